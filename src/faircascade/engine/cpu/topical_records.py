"""What the kernels of bandits on topics work on, beside the records of all bandits."""

from __future__ import annotations

from typing import NamedTuple

from faircascade.engine.cpu.records import Small
from faircascade.types import Floats, Ints

CORNERED = 4
"""Most topics of an item whose bound is taken over all subsets of them."""


class TopicalItems(NamedTuple):
    """What a bandit on topics knows of items: features, if it learns from these, and topics."""

    rows: Floats
    """What is known of each item, topics last, (p, d)."""
    first: int
    """The first column that is a topic."""
    norms: Floats
    """Norm of each row, rounded up, (p,)."""
    radius: float
    """The largest of them."""
    order: Small
    """The items by the number of their topics: loops of the same length come together, (p,)."""
    norms_in_order: Floats
    """Their norms, 0 behind the last up to a multiple of 16, (padded,)."""
    start: Ints
    """Where the topics of each item begin, (p + 1,)."""
    column: Small
    """Their columns, of those that are covered at all."""
    value: Floats
    """How far they are covered."""
    most: int
    """Most topics of an item."""
    needed: Floats
    """What an item needed to be in the last slate of each user, (n,)."""
    bounds: Floats
    """What each item that is held for a user could score when that was computed, (n, held)."""
    fewest: Ints
    """Fewest items that a slate was chosen from since then, (n,)."""
    spent: Ints
    """How many more it was in all slates since then, (n,)."""
    lazy: bool
    """Whether items are scored only where they can matter."""


class TopicalScratch(NamedTuple):
    """Scratch space of a bandit on topics, beside the usual: one set per thread.

    Items that slates are chosen from have places, in any order.
    """

    left: Floats
    """What is left of each column, (d,)."""
    posterior: Floats
    """The theta that items are scored with, (d,)."""
    A: Floats
    """M^-1, (d * d,)."""
    block: Floats
    """Its block for the features, in the first of 8 lanes."""
    allowance: Floats
    """By how much two scores can be in the wrong order, (1,)."""
    base: Floats
    """What the features at each place score, (padded,); -inf if the item is listed."""
    squares: Floats
    """The squared width of these, (padded,)."""
    now: Floats
    """What the item at each place scores, (padded,)."""
    terms: Floats
    """What scores are made of beside that, for each of 16 items in a block, flat."""
    topics: Small
    """The columns of their topics, likewise."""
    many: Ints
    """Most topics of an item, for each block that there is room for."""
    lefts: Floats
    """What is left of the topics of a block, (most * 16,)."""
    corner_means: Floats
    """Mean scores of a block with each subset of its topics, (16 * 16,)."""
    corner_squares: Floats
    """The squared widths of these, (16 * 16,)."""
    more: Floats
    """What one more topic adds to them, (16 * 16,)."""
    near: Small
    """Places of items that may be the best, (p,)."""
    highest: Floats
    """(16,)."""
    sifted: Small
    """Held items that could be in a slate, (p + 1,)."""
    column: Small
    """Where a row is not 0, (d,)."""
    x: Floats
    """(d * 16,)."""
    derived: Floats
    """The gains of a slate, (K, d)."""
    places: Small
    """0, 1, ..., (K,)."""
