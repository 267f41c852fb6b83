"""What the kernels of bandits without features work on: plain arrays, one row for each user."""

from __future__ import annotations

from typing import NamedTuple

from faircascade.engine.cpu.records import Small
from faircascade.random import Words
from faircascade.types import Bools, Floats, Ints

INDICES = ("ucb1", "kl-ucb", "gaussian", "beta")
"""How items may be ranked, as explorations name it in `kernel`; rules have the place in here."""
LAZY = 2
"""The first so many have bounds that hold for a while."""
MEMORY = 64
"""Indices that are remembered while a slate is filled, a power of two."""


class TableRules(NamedTuple):
    """The policy and the options of a run, as numbers."""

    k: int
    ranks_by: int
    """Place in `INDICES`."""
    strength: float
    """Factor of the logarithm of time (UCB1)."""
    clicked: Floats
    """Target of a clicked position as a share of the largest, by the last position seen, (K, K)."""
    ignored: Floats
    """Of one that was seen and not clicked, (K, K)."""
    until: int
    """How far positions are taken as seen: see `observations.base`."""
    noticed: Floats
    """How much of each that far is taken as seen, (K,)."""
    plain: bool
    """Whether users click once at most, and everything down to it is seen."""
    realised: bool
    traced: bool
    lazy: bool
    """Whether indices are computed only where they can matter."""


class TableDraws(NamedTuple):
    """Where each user's draws begin: (seed, purpose, user) hashed, (n,), or (6, n) for gammas."""

    attraction: Words
    tie: Words
    visit: Words
    chances: Floats
    """How likely each user comes in a round."""
    examination: Words
    radius: Words
    angle: Words
    gammas: Words


class Table(NamedTuple):
    """What is learned of each user, and how high the index of each item can be."""

    targets: Floats
    """S of each item, (n, p)."""
    positions: Floats
    """N, (n, p)."""
    seen: Floats
    """N~, (n, p)."""
    slates: Ints
    """(n,)."""
    base: Floats
    """An index is at most base + slope * level, the level being what time amounts to in it: indices
    are concave in that, so a tangent bounds them until the item is seen, (n, p padded to 16s)."""
    slope: Floats
    """(n, p padded to 16s)."""
    reach: Floats
    """The index of the last item of the last slate, (n,)."""
    margin: Floats
    """How much lower that of the next one may be, at a guess, (n,)."""


class TableScratch(NamedTuple):
    """Scratch space: one set per thread."""

    slate: Small
    """The slate, (K,)."""
    values: Floats
    """Its rounded indices, (K,)."""
    lots: Words
    """What decides between equal ones, (K,)."""
    scores: Floats
    """Of all items, (p,)."""
    clicks: Bools
    """Clicks on the slate, (K,)."""
    ideal_clicks: Bools
    """Clicks on the optimal slate, (K,)."""
    chances: Floats
    """(K + 1,)."""
    known: Floats
    """Mean, count, level, index and slope of indices computed before, (64, 5)."""


class PairRules(NamedTuple):
    """TopRank and the options of a run, as numbers; names as in `TableRules`."""

    k: int
    delta: float
    """How likely a comparison may go wrong."""
    least: float
    """No lead is enough whose square is less than this for each comparison."""
    until: int
    noticed: Floats
    plain: bool
    realised: bool
    traced: bool


class PairDraws(NamedTuple):
    """Where each user's draws begin: (seed, purpose, user) hashed, (n,)."""

    attraction: Words
    tie: Words
    visit: Words
    examination: Words
    chances: Floats
    """How likely each user comes in a round."""


class Pairs(NamedTuple):
    """What is known of the pairs of items of each user, and the blocks that they make."""

    wins: Small
    """How often i was clicked and j was not, while they were in one block, (n, p, p)."""
    better: Bools
    """Whether i is known to be better than j, (n, p, p)."""
    served: Bools
    """Whether a user has seen a slate, (n,)."""
    order: Small
    """Items block by block, (n, p)."""
    block: Small
    """Where the block of each item begins in that order, (n, p)."""


class PairScratch(NamedTuple):
    """Scratch space: one set per thread; names as in `TableScratch`."""

    slate: Small
    lots: Words
    hit: Bools
    """Which items were clicked, (p,)."""
    clicks: Bools
    ideal_clicks: Bools
    chances: Floats
