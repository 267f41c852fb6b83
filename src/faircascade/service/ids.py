"""Rules for ids, labels, numbers and features."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import StringConstraints

LONGEST_ID = 256
LONGEST_NAME = 64
"""Characters of the name of an attribute."""
LARGEST_FEATURE = 1e4
"""Features are of this size at most, so that no sum of their products gets out of hand."""

Id = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""Text without control characters."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""What names of policies and experiments look like: they stand in paths."""
NAME_RULE = (
    "must be 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or digit"
)
Name = Annotated[str, StringConstraints(pattern=NAME)]
"""A name of a policy or an experiment."""
Label = Annotated[str, StringConstraints(max_length=LONGEST_ID, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""Text without control characters; an empty one takes the label away."""
MOST_LABELS = 8
"""Labels of a user that a request may bring."""
UserLabel = Annotated[
    str, StringConstraints(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""Short text without control characters."""

AttributeName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
"""Any text."""


def finite(given: Any) -> float | None:
    """Return a number as a float; None if it is none, or too large to be one.

    >>> finite(7), finite(10**400), finite("7")
    (7.0, None, None)
    """
    if not isinstance(given, int | float):
        return None
    try:
        number = float(given)
    except OverflowError:  # JSON has whole numbers of any size
        return None
    return number if math.isfinite(number) else None
