"""What the kernels of bandits on topics work on, beside the records of all bandits."""

from __future__ import annotations

from typing import NamedTuple

from faircascade.engine.cpu.records import Small
from faircascade.random import Words
from faircascade.types import Floats, Ints


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
    about: Words
    """The topics of each item as bits, those with the same remainder by 64 being one, (p,)."""
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
    risen: Floats
    """theta, without what is negative, (d,)."""
    A: Floats
    """M^-1, (d * d,)."""
    block: Floats
    """Its block for the features, in the first of 8 lanes."""
    allowance: Floats
    """By how much two scores can be in the wrong order, (1,)."""
    base: Floats
    """What the features at each place score, (padded,)."""
    squares: Floats
    """The squared width of these, (padded,)."""
    cross: Floats
    """Twice M^-1 between the features and each topic of the item at a place, (p * most,)."""
    now: Floats
    """What the item at each place scores, or scored at `scored_at`, (padded,)."""
    bounds: Floats
    """What it scores at most, (padded,). Both are -inf if it is listed, and behind the last."""
    scored_at: Small
    """The position at which these were computed, K + 1 if they were not, (p,)."""
    touched: Words
    """Topics, as bits, of the items listed at a position or below, (K + 2,)."""
    near: Small
    """Places of items that may be the best, (p,)."""
    highest: Floats
    """(16,)."""
    gains: Floats
    """What an item adds to each of its topics, (most,)."""
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
