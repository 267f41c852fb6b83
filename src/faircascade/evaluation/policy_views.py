"""What a policy that can be run makes of logged impressions, for every estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.data.log import Impressions
from faircascade.evaluation.catalogue import Catalogue
from faircascade.evaluation.click_rates import ClickRates, folds_of
from faircascade.evaluation.equality import ExposureSums
from faircascade.evaluation.estimators.slates import (
    Chances,
    PolicySlates,
    known_positions,
    last_positions,
)
from faircascade.evaluation.policy_chances import PolicyQuery, matches, of_known
from faircascade.types import Bools, Floats, Ints

MODEL_DRAWS = 8
"""Own slates of an impression that models are asked about at most."""


class PolicyRun(ABC):
    """A policy that goes through a log, block by block."""

    label: str
    how: str
    """In which way it is evaluated, in words."""
    catalogue: Catalogue

    @abstractmethod
    def view(self, block: Impressions, blocks: Ints) -> PolicySlates:
        """Return what it makes of impressions of users of some blocks."""

    def exposure(self) -> ExposureSums | None:
        """Return the exposure that it would have given to items; None if it has to be estimated."""
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class NextItemValues:
    """Values q of items at positions for Cascade-DR, and what is expected of a next item.

    A policy is asked for the items that were logged most; the others share one value, so that the
    expectation is exact whatever the number of items.
    """

    tables: tuple[Floats, ...]
    """Of item codes at positions, for users of each fold, (m + 1, K)."""
    usual: tuple[Floats, ...]
    """Of items that are not asked for, (K,)."""
    asked: tuple[Ints, ...]
    """Codes of the items that are asked for, by position."""

    @classmethod
    def of(cls, rates: tuple[ClickRates, ...], shown: Floats, asked: int) -> NextItemValues:
        """Take rates of the most shown items; `shown` are impressions, (m, K)."""
        order = np.argsort(-shown, axis=0, kind="stable")[:asked]  # (asked, K)
        tables, usual = [], []
        for rate in rates:
            mean = (rate.table[:-1] * shown).sum(axis=0) / np.maximum(shown.sum(axis=0), 1.0)
            table = np.tile(mean, (len(rate.table), 1))
            np.put_along_axis(table, order, np.take_along_axis(rate.table, order, 0), axis=0)
            tables.append(table)
            usual.append(mean)
        return cls(tables=tuple(tables), usual=tuple(usual), asked=tuple(order.T))


@dataclass(frozen=True, kw_only=True, eq=False)
class LoggedSlates:
    """Impressions in the numbering of a policy's catalogue."""

    block: Impressions
    catalogue: Catalogue
    query: PolicyQuery

    @cached_property
    def rows(self) -> Ints:
        """Catalogue rows, -1 where nothing is known, (n, K)."""
        return self.catalogue.rows(self.block.widened(self.query.k).items)

    @cached_property
    def known(self) -> Bools:
        return known_positions(self.block.widened(self.query.k))

    @cached_property
    def last(self) -> Ints:
        return last_positions(self.known)

    @cached_property
    def full(self) -> tuple[Ints, Bools]:
        """Slates without gaps, and which positions the policy could show."""
        return self.query.filled(np.where(self.known, self.rows, -1))

    @cached_property
    def on_screen(self) -> Bools:
        """Positions that count; one of a row that has a single position, (n, K)."""
        return self.known

    @property
    def codes(self) -> Ints:
        items = self.block.widened(self.query.k).items
        return np.where(self.known, items, -1).astype(np.int64)

    def chances(self, found: Chances) -> Chances:
        """Return chances of the slates without gaps as those of the logged slates."""
        return of_known(found, self.full[1], self.known, self.last)


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedSlates(LoggedSlates):
    """Impressions whose clicks are expected from rates, which differ by fold of users."""

    blocks: Ints
    """Of the users, (n,)."""

    @cached_property
    def folds(self) -> Ints:
        return folds_of(self.blocks)


def slates_of(
    logged: RatedSlates,
    own: Ints,
    exact: Chances | None,
    rates: tuple[ClickRates, ...],
    values: NextItemValues | None,
    following: Floats | None,
) -> PolicySlates:
    """Return what a policy makes of impressions, given its own slates of rows, (draws, n, K).

    `following` is what Cascade-DR expects if the policy knows its chances; otherwise it is found
    by counting own slates, as the chances are.
    """
    counted = exact is None
    chances = logged.chances(matches(own, logged.full[0]) if exact is None else exact)
    if values is not None and counted:
        following = _counted_values(logged, own, values)
    few = own[:MODEL_DRAWS]
    harvested, modelled = _click_based(logged, few, rates)
    return PolicySlates(
        chances=chances,
        predicted=np.mean([_by_fold(logged, slates, rates) for slates in few], axis=0),
        next_values=following,
        logged_values=None if values is None else _looked_up(values.tables, logged, logged.codes),
        harvested=harvested,
        modelled=modelled,
    )


def asked_values(
    logged: RatedSlates, state: Any, users: Ints, rounds: Ints, values: NextItemValues
) -> Floats | None:
    """Return the next values of a policy that knows its chances, by asking for items, (n, K)."""
    query, full = logged.query, logged.full[0]
    exact = query.exact(state, full, users, rounds)
    if exact is None:
        return None
    cascade = logged.chances(exact).cascade
    assert cascade is not None
    n, k = full.shape
    found = np.empty((n, k))
    for position in range(k):
        above = np.ones(n) if position == 0 else np.nan_to_num(cascade[:, position - 1])
        usual = np.stack([mean[position] for mean in values.usual])[logged.folds]
        found[:, position] = above * usual
        gains = np.stack([t[:, position] for t in values.tables])  # (folds, m + 1)
        codes = values.asked[position]
        items = logged.catalogue.rows(codes)
        rows = np.flatnonzero(above > 0)
        for code, item in zip(codes.tolist(), items.tolist(), strict=True):
            if item >= len(query.items) or not query.showable[item]:
                continue
            asked = rows[~(full[rows, :position] == item).any(axis=1)]
            if not len(asked):
                continue
            prefix = np.full((len(asked), k), -1, dtype=np.int64)
            prefix[:, :position], prefix[:, position] = full[asked, :position], item
            chance = query.exact(state, query.filled(prefix)[0], users[asked], rounds[asked])
            assert chance is not None
            assert chance.cascade is not None
            gain = gains[logged.folds[asked], code] - usual[asked]
            found[asked, position] += chance.cascade[:, position] * gain
    return found


def _counted_values(logged: RatedSlates, own: Ints, values: NextItemValues) -> Floats:
    """Return the next values of own slates whose items above are the logged ones, (n, K)."""
    same = np.logical_and.accumulate(own == logged.full[0], axis=2)  # (draws, n, K)
    good = np.logical_and.accumulate(logged.full[1] | ~logged.known, axis=1)
    above = np.ones(own.shape, dtype=bool)
    above[:, :, 1:] = same[:, :, :-1] & good[:, :-1]
    found = [_looked_up(values.tables, logged, logged.catalogue.codes(slates)) for slates in own]
    return np.asarray(np.mean(above * np.stack(found), axis=0))


def _click_based(
    logged: RatedSlates, own: Ints, rates: tuple[ClickRates, ...]
) -> tuple[Floats, Floats]:
    """Return weights of logged clicks and the clicks expected on own items not logged, (n, K)."""
    examination = np.stack([rate.examination for rate in rates])[logged.folds]  # (n, K)
    attraction = np.stack([rate.attraction for rate in rates])
    there = np.where(logged.known, logged.rows, -1)
    looked, modelled = np.zeros(there.shape), np.zeros(there.shape)
    for slates in own:
        same = slates[:, :, None] == there[:, None, :]  # (n, own position, logged position)
        weight = np.where(logged.on_screen, examination, 0.0)
        looked += (same * weight[:, :, None]).sum(axis=1)
        expected = attraction[logged.folds[:, None], logged.catalogue.codes(slates)] * weight
        modelled += np.where(same.any(axis=2), 0.0, expected)
    return looked / len(own) / examination, modelled / len(own)


def _by_fold(logged: RatedSlates, slates: Ints, rates: tuple[ClickRates, ...]) -> Floats:
    return _looked_up(tuple(rate.table for rate in rates), logged, logged.catalogue.codes(slates))


def _looked_up(tables: tuple[Floats, ...], logged: RatedSlates, codes: Ints) -> Floats:
    """Return values of item codes at positions from the tables of the users' folds, (n, K)."""
    stacked = np.stack(tables)  # (folds, m + 1, K)
    return np.asarray(stacked[logged.folds[:, None], codes, np.arange(codes.shape[1])])
