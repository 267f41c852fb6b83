"""The named readings of the paper, where its text, its tables and its package disagree."""

from __future__ import annotations

from typing import Literal, get_args

from faircascade.errors import check_choice

Reading = Literal["paper", "intended", "reference"]
"""`paper`: formulas literally. `intended`: both stated criteria hold. `reference`: the package."""

READINGS: tuple[Reading, ...] = get_args(Reading)


def check_reading(reading: str) -> None:
    """Refuse an unknown reading."""
    check_choice("reading", reading, READINGS)
