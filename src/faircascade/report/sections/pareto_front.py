"""The Pareto front: what no other policy beats in both of two metrics."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Place(NamedTuple):
    """Where a policy stands, more being better in both."""

    x: float
    y: float


def front(places: Mapping[K, Place]) -> list[K]:
    """Return who is on the front, by rising x: nobody has as much of both and more of one.

    >>> front({"a": Place(1, 3), "b": Place(2, 2), "c": Place(1, 2), "d": Place(3, 1)})
    ['a', 'b', 'd']
    """
    known = {key: at for key, at in places.items() if not math.isnan(at.x + at.y)}
    on = [key for key, at in known.items() if not any(beats(other, at) for other in known.values())]
    return sorted(on, key=lambda key: known[key].x)


def beats(one: Place, other: Place) -> bool:
    """Say whether one has as much of both, and more of at least one."""
    return one != other and one.x >= other.x and one.y >= other.y
