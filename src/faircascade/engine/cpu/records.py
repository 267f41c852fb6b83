"""What kernels work on: plain arrays by name. Item numbers are rows of the pool.

Numbers of users are laid out in groups of 8 lanes, (groups, ..., 8), the last axis the user.
Symmetric matrices are stored as their upper half, row by row: (0, 0), (0, 1), ..., (1, 1), ...
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.random import Words
from faircascade.types import Floats, Ints

USERS = 8
"""Users that learn side by side."""
ITEMS = 16
"""Items that are scored side by side."""
HALVINGS = 40
"""Steps in the search for a score to cut at; with many equal scores there is none."""

Small = NDArray[np.int32]


class PackedEnvironment(NamedTuple):
    """Who is served, and from what."""

    features: Floats
    """One row per item, (p, d); an intercept, if the policy has one, comes last."""
    by_feature: Floats
    """One row per feature, zeros behind the last item up to a multiple of 16, flat (d * padded)."""
    padded: int
    nonzero: Small
    """Features that are not 0, item after item; empty unless most are 0."""
    nonzero_x: Floats
    """What these are."""
    nonzero_from: Ints
    """Where those of each item begin, (p + 1,)."""
    norms: Floats
    """Norm of each feature row, rounded up, zeros behind the last, (padded,)."""
    radius: float
    """The largest of them."""
    keys: Words
    """Key of each item, (p,)."""
    rows: Ints
    """Row of each item in the catalogue, (p,)."""
    by_key: Ints
    """Items in the order of their keys, (p,)."""
    rank: Ints
    """Place of each item in that order, (p,)."""
    preferences: Floats
    """theta* of each user, (n, d)."""
    optimal_values: Floats
    """Value of each user's optimal slate, (n,)."""
    optimal_slates: Small
    """Each user's optimal slate, (n, K)."""


class Draws(NamedTuple):
    """Where each user's draws begin: (seed, purpose, user) hashed, (n,) each."""

    attraction: Words
    examination: Words
    tie: Words
    visit: Words
    chances: Floats
    """How likely each user comes in a round."""
    radius: Words
    angle: Words
    coin: Words
    lot: Words
    random: Words
    shuffle: Words
    fair: Words


class ClickNumbers(NamedTuple):
    """The click model, as numbers: `SequentialModel` or `PositionalModel`; a cascade needs none."""

    model: int
    """0 for a cascade."""
    ignored: float
    """Probability of going on from a position that was not clicked."""
    clicked: Floats
    """From one that was, (K,)."""
    slope: float
    """What attraction adds to it."""
    kept: Floats
    """What that is multiplied by, (p,)."""
    gain: Floats
    """What a click is worth, (K,)."""
    worth: Floats
    """What that is multiplied by, (p,)."""
    examination: Floats
    """Probability of looking, by position and distance to the last click, (K, K)."""


class Rules(NamedTuple):
    """The policy and the options of a run, as numbers."""

    k: int
    alpha: float
    """Weight of the confidence width."""
    noise: float
    """Spread of the posterior draw (Thompson sampling); 0 for none."""
    epsilon: float
    """Probability of a random item at a position."""
    gain: float
    scale: float
    first_theta: float
    until: int
    """How far positions are taken as seen: see `observations.base`."""
    noticed: Floats
    """How much of each that far is taken as seen, (K,)."""
    clicked_factors: Floats
    """What the features of a clicked position are multiplied by, (K, K)."""
    ignored_factors: Floats
    """Those of a position that was seen and not clicked, (K, K)."""
    clicked: Floats
    """Target of a clicked position, one row per last position seen, (K, K)."""
    ignored: Floats
    """Target of a position that was seen and not clicked, (K, K)."""
    logistic: bool
    """Whether a regression is logistic: its last feature is an intercept, factors are how much
    positions count, and targets as how much of a click."""
    plain: bool
    """Whether users click once at most, and everything down to it is seen and counts in full."""
    tolerance: float
    """Share of the expected clicks that a shuffle may cost (EARS); 0 for no shuffle."""
    stops: Floats
    """Probability that a user looks at exactly 0, 1, ..., K positions, (K + 1,)."""
    shares: Floats
    """Probability of each set of r to come first of p when these are shuffled, (K + 1, K + 1).

    Empty if nothing is shuffled, or if K is too large for it."""
    drawn_by_merit: bool
    sharpness: float
    """How much a score counts against luck, if items are drawn by merit (merit-draws)."""
    eta: float
    """What an item with its fair share of exposure loses (exposure-charge); 0 for nothing."""
    discount: float
    """How much of the bonus exposure uses up (discount); 0 for nothing."""
    reorders: bool
    """Whether items whose exposure lags come first (reorder)."""
    accounts: bool
    """Whether exposure is accounted for."""
    shifts: bool
    """Whether scores are moved by what an account of all users says."""
    by_score: bool
    """Whether slates are then ordered by the scores before that."""
    gained: Ints
    """What a position counts there, (K,)."""
    refine_every: int
    realised: bool
    lazy: bool
    """Whether scores are computed only where they can matter."""
    traced: bool


class Sums(NamedTuple):
    """What is learned of each user."""

    M: Floats
    """(groups, pairs * 8)."""
    M_inv: Floats
    """(groups, pairs * 8)."""
    B: Floats
    """(groups, d * 8); empty in a logistic regression."""
    theta: Floats
    """(groups, d * 8)."""
    updates: Ints
    """(groups, 8)."""
    interval: Ints
    """(groups, 8)."""


class Account(NamedTuple):
    """Exposure that each user has seen, for re-rankers that go by it; else empty."""

    units: Ints
    """E_P of each item, (n, p)."""
    worth: Ints
    """E_P / merit of each item, up to a factor, (n, p)."""
    total: Ints
    """Its sum over the items, (n,)."""
    prices: Floats
    """What exposure costs each item, (p,)."""
    items: int
    """Items in the catalogue, those that are never shown included."""
    kept: Floats
    """What scores are multiplied by in this round, (p,), if an account of all users moves them."""
    added: Floats
    """What is then added to them, (p,)."""


class Tiers(NamedTuple):
    """Items left out when others were scored: how high they can have risen since.

    Tier i is what set i + 1 has beyond set i. All are (groups, tiers * 8) but theta.
    """

    fixed: Floats
    """What they score at most if theta has not moved."""
    slope: Floats
    """How much more for each unit by which theta has moved."""
    theta: Floats
    """theta when they were left out, (groups, tiers * d * 8)."""
    ceiling: Floats
    """Their highest score then; -inf if none was left out."""
    radius: Floats
    """Their largest norm."""
    theta_norm: Floats
    """Norm of theta then."""
    norm: Floats
    """Norm of M^-1 then."""
    growth: Floats
    """How much x^T M^-1 x / |x|^2 can have grown by rounding since."""


class Shortlist(NamedTuple):
    """The items that each user's slates come from, in nested sets: 0 is the front, in order."""

    front: Small
    """Items at the front, (n, F)."""
    front_size: Ints
    """(n,); 0 before the first slate."""
    front_x: Floats
    """Their features, one row per feature, (n, d * F)."""
    order: Small
    """Places in the front, the last slate first, (n, F)."""
    sets: Small
    """Items of sets 1, 2, ... one after the other, (n, sum of their rooms)."""
    sizes: Ints
    """How many items they have, (n, sets)."""
    start: Ints
    """Where each set begins, (sets,)."""
    room: Ints
    """How many items each set has at most, (sets,)."""
    tiers: Tiers


class Contenders(NamedTuple):
    """What the slates of a policy that does not learn come from."""

    items: Small
    """Items that can be shown, one row per user or one for all, (n or 1, c)."""
    scores: Floats
    """Their scores, (n or 1, c)."""
    drawn: bool
    """Whether scores are drawn anew for every slate."""


class Scratch(NamedTuple):
    """Scratch space: one set per thread."""

    scores: Floats
    """(padded + 16,)."""
    bonus: Floats
    """Confidence widths of what was scored, (padded + 16,)."""
    x: Floats
    """Features of what is scored, (d * items of the largest set,)."""
    values: Floats
    """Rounded scores of the best, (max(K, F),)."""
    places: Small
    """(F,)."""
    block: Floats
    """(32,)."""
    limit: Floats
    """What each tier can score at most, (tiers * 8,)."""
    slate: Small
    """The slate, (K,)."""
    slate_x: Floats
    """Its features, (d * K rounded up to 16s,)."""
    slate_widths: Floats
    """Its confidence widths, (K rounded up to 16s,)."""
    greedy: Small
    """(K,)."""
    listed: Ints
    """(K,)."""
    used: NDArray[np.bool_]
    """(K,)."""
    shown: Floats
    """Features of the slates of a group, zero where not examined, (K * d * 8,)."""
    weights: Floats
    """What each position teaches, (K * 8,), and how much it counts in a logistic regression."""
    examined: Ints
    """(8,)."""
    v: Floats
    """(2 * d * 8,)."""
    expected: Floats
    """(8,)."""
    matrices: Floats
    """(4, d, d)."""
    drawn: Floats
    """(d,)."""
    z: Floats
    """(d + 1,)."""
    misses: Floats
    """Probability of no click on each item of the slate, (K rounded up to 16s,)."""
    missed: Floats
    """(2 * (K + 1),)."""
    lots: Words
    """(K,)."""
    clicks: NDArray[np.bool_]
    """Which positions of the slate were clicked, (K,)."""
    ideal_clicks: NDArray[np.bool_]
    """Which positions of the optimal slate would have been, (K,)."""
    chances: Floats
    """(K + 1,)."""


class StepCounts(NamedTuple):
    """What is counted: one set per thread, one interval at a time."""

    appearances: Ints
    """(m, K)."""
    item_clicks: Ints
    """(m, K)."""
    by_round: Ints
    """Rows as in `tally.BY_ROUND`, (6, rounds of the step)."""
    work: Ints
    """Slates that needed the scores of set 0, 1, ..., all, (sets + 2,)."""
    broken: Ints
    """Not 0 if a slate had scores that were not finite, (1,)."""


class Trace(NamedTuple):
    """Who saw what in the rounds of a step; empty unless it was asked for."""

    slates: Small
    """Catalogue rows, (rounds, n, K)."""
    clicks: NDArray[np.int8]
    """1 where a position was clicked, else 0, -1 for a user who did not come, (rounds, n, K)."""
