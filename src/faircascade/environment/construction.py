"""What constructors of environments share."""

from __future__ import annotations

from typing import Any

from faircascade.errors import ParameterError
from faircascade.registry import Component
from faircascade.types import Bools

MERIT_FLOOR = 1e-3
"""The least merit of an item, unless it is said."""


def check_length(k: int, eligible: Bools) -> None:
    """Refuse slates that are longer than what they can be made of."""
    most = int(eligible.sum())
    if not 1 <= k <= most:
        rule = f"must be between 1 and {most} (the items that can be recommended)"
        raise ParameterError("k", rule, k)


def given_parts(**parts: Component | None) -> dict[str, Any]:
    """Return the parts that were given; others are the environment's defaults."""
    return {name: part for name, part in parts.items() if part is not None}
