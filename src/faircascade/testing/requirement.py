"""What checks are made of."""

from __future__ import annotations

from typing import Any

import numpy as np


def require(holds: Any, message: str) -> None:
    """Raise an `AssertionError` unless something holds, also where `assert` is switched off."""
    if not holds:
        raise AssertionError(message)


def require_same(found: Any, expected: Any, what: str) -> None:
    """Raise an `AssertionError` unless two arrays are equal."""
    require(np.array_equal(found, expected), f"{what}: {found!r} is not {expected!r}")
