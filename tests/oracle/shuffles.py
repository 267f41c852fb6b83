"""EARS by looking at every shuffle: exact fractions, no subsets, no polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

Chances = Sequence[Fraction]
"""Probability that each item of a slate attracts, from the top."""


def clicks(chances: Chances, patience: Fraction) -> Fraction:
    """The chance of a click: the user goes on or leaves, looks, clicks or comes to the next."""
    if not chances:
        return Fraction(0)
    here, *below = chances
    return patience * (here + (1 - here) * clicks(below, patience))


def shuffled(chances: Chances, length: int, patience: Fraction) -> Fraction:
    """The chance of a click, on average over all orders of the first `length` items."""
    top, rest = chances[:length], chances[length:]
    orders = [clicks([*order, *rest], patience) for order in permutations(top)]
    return sum(orders, Fraction(0)) / len(orders)


def longest(chances: Chances, patience: Fraction, tolerance: Fraction) -> int:
    """The longest prefix whose shuffles keep more than 1 - tolerance of the slate's clicks."""
    if tolerance == 1:
        return len(chances)
    whole = shuffled(chances, 1, patience)
    if tolerance == 0 or whole == 0:
        return 1
    return max(
        (
            length
            for length in range(1, len(chances) + 1)
            if shuffled(chances, length, patience) / whole > 1 - tolerance
        ),
        default=1,
    )
