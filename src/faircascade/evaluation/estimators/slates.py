"""Logged slates as estimators see them: how likely two policies were to show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from faircascade.data.log import Impressions, Propensity
from faircascade.types import Bools, Floats, Ints

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
        one position all three are the same.
        """
        last = last_positions(known_positions(block))
        slate, cascade, alone = block.slate, block.cascade, block.item_position
        if cascade is not None and (slate is None or np.isnan(slate).all()):
            slate = cascade[np.arange(len(cascade)), last]
        single = last == 0
        if slate is not None and single.any():
            cascade = _filled(cascade, slate, single, block.k)
            alone = _filled(alone, slate, single, block.k)
        return cls(slate=_some(slate), cascade=_some(cascade), item_position=_some(alone))

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


def last_positions(known: Bools) -> Ints:
    """Return the last known position of each slate, (n,); 0 if there is none."""
    return np.where(known.any(axis=1), known.shape[1] - 1 - known[:, ::-1].argmax(axis=1), 0)


def _filled(chances: Floats | None, slate: Floats, rows: Bools, k: int) -> Floats:
    """Return chances by position whose first column is the slate's, in some rows."""
    found = np.full((len(slate), k), np.nan) if chances is None else chances.copy()
    blank = rows & np.isnan(found[:, 0])
    found[blank, 0] = slate[blank]
    return found


def _some(chances: Floats | None) -> Floats | None:
    """Return chances, None if not one of them is known."""
    return None if chances is None or np.isnan(chances).all() else chances
