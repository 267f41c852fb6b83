"""Logged slates as estimators see them: how likely two policies were to show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.log import Impressions, Propensity
from faircascade.types import Bools, Floats, Ints

_ROUNDING = 1e-6
"""By this share chances may differ from what they should be."""
KINDS: tuple[Propensity, ...] = get_args(Propensity)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chances:
    """Probabilities of logged slates under one policy, as far as they are known."""

    slate: Floats | None = None
    """Of the whole slate, NaN where unknown, (n,)."""
    cascade: Floats | None = None
    """Of the items down to each position, (n, K)."""
    item_position: Floats | None = None
    """Of each item at its position, (n, K)."""

    @classmethod
    def of_log(cls, block: Impressions) -> Chances:
        """Return what a log says of the policy that showed its slates.

        Down to the last position of a slate, `cascade` is the chance of the slate; in a slate of
        one position all three are the same. That makes no probabilities by position for a log that
        has none: short slates alone would stand for all. None is what the log has no column of, so
        that it does not depend on how the log is cut into blocks.
        """
        last = last_positions(known_positions(block))
        slate, cascade, alone = block.slate, block.cascade, block.item_position
        if cascade is not None:
            whole = cascade[np.arange(len(cascade)), last]
            slate = whole if slate is None else np.where(np.isnan(slate), whole, slate)
        if slate is not None:
            single = last == 0
            if cascade is not None or block.k == 1:
                cascade = _filled(cascade, slate, single, block.k)
            if alone is not None or block.k == 1:
                alone = _filled(alone, slate, single, block.k)
        return cls(slate=slate, cascade=cascade, item_position=alone)

    def of(self, kind: Propensity) -> Floats | None:
        """Return the chances of one kind by position, (n, K) or (n, 1)."""
        if kind == "slate":
            return None if self.slate is None else self.slate[:, None]
        return self.cascade if kind == "cascade" else self.item_position

    def take(self, rows: Ints | Bools | slice) -> Chances:
        """Return those of some slates."""
        return Chances(
            slate=None if self.slate is None else self.slate[rows],
            cascade=None if self.cascade is None else self.cascade[rows],
            item_position=None if self.item_position is None else self.item_position[rows],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PolicySlates:
    """What the policy to be evaluated makes of logged impressions."""

    chances: Chances
    """Of the logged slates."""
    predicted: Floats | None = None
    """Clicks that a model expects on its own slates, by position, (n, K)."""
    next_values: Floats | None = None
    """Chance of the items above a position times the mean over its own next items of a model's
    value for that position, (n, K)."""
    logged_values: Floats | None = None
    """The same model's values of the logged items, (n, K)."""
    harvested: Floats | None = None
    """Weights of logged clicks by how often items are looked at, (n, K)."""
    modelled: Floats | None = None
    """Clicks that a click model expects on its own items that were not logged, (n, K)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EvaluatedSlates:
    """Logged impressions, and what both policies have to do with them."""

    rewards: Floats
    """What is to be estimated, by position, (n, K): clicks, or anything that adds up."""
    known: Bools
    """Positions that were on the screen with an item that is known, (n, K)."""
    logging: Chances
    policy: PolicySlates
    behaviour: Ints | None = None
    """Of each user, the place in `KINDS` of what a click depends on, (n,)."""

    @property
    def some(self) -> Bools:
        """Slates of which any position is known, (n,)."""
        return np.asarray(self.known.any(axis=1))

    def weights(self, kind: Propensity) -> tuple[Floats, Bools] | None:
        """Return importance weights (n, K), 0 where nothing is known, and the usable slates (n,).

        None if one of the policies has no such probabilities.
        """
        ours, theirs = self.policy.chances.of(kind), self.logging.of(kind)
        if ours is None or theirs is None:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.broadcast_to(ours / theirs, self.known.shape)
        fine: Bools = np.asarray((np.isfinite(ratio) | ~self.known).all(axis=1))
        usable = fine & self.some
        return np.where(self.known & usable[:, None], ratio, 0.0), usable


def known_positions(block: Impressions) -> Bools:
    """Return the positions of impressions that were shown and whose item is known, (n, K)."""
    on_screen = np.arange(block.k) < block.shown[:, None]
    return np.asarray((block.items >= 0) & on_screen)


def check_prefixes(cascade: Floats | None, name: str, first: int) -> None:
    """Refuse chances of the items down to each position (n, K) that grow on the way down.

    `first` is the number of the first impression. Chances of an item given those above it, which
    are taken for these easily, grow somewhere in any log.
    """
    if cascade is None or cascade.shape[1] < 2:
        return
    grows = cascade[:, 1:] > cascade[:, :-1] * (1 + _ROUNDING)
    if not grows.any():
        return
    row, position = np.argwhere(grows)[0].tolist()
    above, below = cascade[row, position : position + 2].tolist()
    raise DataError(
        f"{name} must not grow down a slate, as it is the probability of all items down to a "
        f"position, got {above:.6g} and then {below:.6g} in impression {first + row + 1:,}; if it "
        "is that of each item given those above it, multiply it down the slate"
    )


def last_positions(known: Bools) -> Ints:
    """Return the last known position of each slate, (n,); 0 if there is none."""
    return np.where(known.any(axis=1), known.shape[1] - 1 - known[:, ::-1].argmax(axis=1), 0)


def _filled(chances: Floats | None, slate: Floats, rows: Bools, k: int) -> Floats:
    """Return chances by position whose first column is the slate's, in some rows."""
    found = np.full((len(slate), k), np.nan) if chances is None else chances.copy()
    blank = rows & np.isnan(found[:, 0])
    found[blank, 0] = slate[blank]
    return found
