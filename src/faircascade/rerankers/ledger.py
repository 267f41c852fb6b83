"""Account of the exposure that items have had: of each user, or of all users together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import check_choice
from faircascade.metrics.tally import discounts
from faircascade.types import Floats, Ids, Ints, Items, Rows

Scope = Literal["user", "global"]
"""`user`: an account for each, so that users stay independent. `global`: one for all."""

UNIT = 2.0**-16
"""Exposure is counted in whole units of this, so that it adds up to the same in any order."""
DEAREST = 2.0**16
"""Merit below the largest divided by this counts as that much, so that no sum overflows."""

_IDS, _UNITS = "ledger/items", "ledger/units"


def check_scope(ledger: str) -> None:
    """Refuse an unknown scope."""
    check_choice("ledger", ledger, get_args(Scope))


def exposure_units(k: int) -> Ints:
    """Return what an appearance at each position counts, 1 / log2(1 + position) in units, (k,)."""
    return np.rint(discounts(k) / UNIT).astype(np.int64)


def prices(merit: Floats) -> Floats:
    """Return what exposure costs each item: the largest merit over its own, (m,)."""
    return np.asarray(np.minimum(merit.max() / merit, DEAREST))


@dataclass(kw_only=True, eq=False)
class Ledger:
    """E_P of every item so far. A global one takes a round's exposure in when the round is over.

    Columns follow the catalogue from slate to slate: a new item starts with nothing.
    """

    scope: Scope
    ids: Ids
    """Ids of the items, (m,)."""
    units: Ints
    """Exposure in units, one row per user or one for all, (n or 1, m)."""
    fresh: Ints
    """Exposure of the current round, for a global ledger, (m,)."""

    @classmethod
    def of(cls, scope: Scope, users: int) -> Ledger:
        """Return an account of nothing, without items so far."""
        rows = users if scope == "user" else 1
        return cls(
            scope=scope,
            ids=np.empty(0, dtype=np.int64),
            units=np.zeros((rows, 0), dtype=np.int64),
            fresh=np.zeros(0, dtype=np.int64),
        )

    def follow(self, ids: Ids) -> None:
        """Give every item of a catalogue its column."""
        if self.ids is ids or np.array_equal(self.ids, ids):
            return
        self.units = self._columns(self.units, ids)
        self.fresh = self._columns(self.fresh, ids)
        self.ids = ids

    def _columns(self, units: Ints, ids: Ids) -> Ints:
        spread = np.zeros((*units.shape[:-1], len(ids)), dtype=np.int64)
        if len(self.ids):
            _, old, new = np.intersect1d(self.ids, ids, return_indices=True)
            spread[..., new] = units[..., old]
        return spread

    def exposure(self, rows: Rows, items: Items) -> Floats:
        """Return E_P of every item for some users, (n or 1, m)."""
        self.follow(items.ids)
        units = self.units[rows] if self.scope == "user" else self.units
        return np.asarray(units * UNIT)

    def worth(self, rows: Rows, items: Items) -> Ints:
        """Return E_P / merit of every item for some users, up to a factor, (n or 1, m)."""
        self.follow(items.ids)
        units = self.units[rows] if self.scope == "user" else self.units
        return np.rint(units * prices(items.merit)).astype(np.int64)

    def enter(self, rows: Rows, slates: Ints, items: Items) -> None:
        """Take in slates of catalogue rows (n, K) shown to some users."""
        self.follow(items.ids)
        gained = exposure_units(slates.shape[1])
        if self.scope == "global":
            each = np.broadcast_to(gained, slates.shape)  # NumPy 2.4 reads past a shorter operand
            np.add.at(self.fresh, slates.ravel(), each.ravel())
        else:
            accounts = np.arange(len(self.units))[rows]
            self.units[accounts[:, None], slates] += gained  # a slate shows an item once

    def give_back(self, rows: Rows, items: Ids, shown: Ints) -> None:
        """Take back what items (n, K) of slates were entered with below the positions shown, (n,);
        those that are gone have no account any more."""
        below = np.arange(items.shape[1]) >= shown[:, None]
        if not below.any():
            return
        users, places = np.nonzero(below)
        column_of = {name: column for column, name in enumerate(self.ids.tolist())}
        columns = np.array([column_of.get(i, -1) for i in items[below].tolist()], dtype=np.int64)
        there = columns >= 0
        units = exposure_units(items.shape[1])[places[there]]
        if self.scope == "global":
            np.subtract.at(self.fresh, columns[there], units)
        else:
            accounts = np.arange(len(self.units))[rows][users[there]]
            np.subtract.at(self.units, (accounts, columns[there]), units)

    @staticmethod
    def settle(parts: Sequence[Ledger]) -> None:
        """End a round: every part of a global ledger takes in what all parts showed."""
        ids = max((part.ids for part in parts), key=len)
        for part in parts:
            part.follow(ids)
        shown = np.sum([part.fresh for part in parts], axis=0)
        for part in parts:
            part.units += shown
            part.fresh = np.zeros_like(shown)

    @classmethod
    def join(cls, parts: Sequence[Ledger]) -> Ledger:
        """Return one ledger for the users of several, in their order."""
        if parts[0].scope == "global":
            return parts[0].take(slice(None))
        known = [part.ids for part in parts if len(part.ids)] or [parts[0].ids]
        same = all(np.array_equal(known[0], ids) for ids in known)
        ids = known[0] if same else reduce(np.union1d, known)
        return cls(
            scope=parts[0].scope,
            ids=ids,
            units=np.concatenate([part._columns(part.units, ids) for part in parts]),
            fresh=np.zeros(len(ids), dtype=np.int64),
        )

    def take(self, rows: Rows) -> Ledger:
        """Return a copy for some of the users."""
        units = self.units[rows] if self.scope == "user" else self.units
        return Ledger(scope=self.scope, ids=self.ids, units=units.copy(), fresh=self.fresh.copy())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the account as arrays, to be stored."""
        return {_IDS: self.ids, _UNITS: self.units}

    @classmethod
    def restore(cls, scope: Scope, arrays: Mapping[str, NDArray[Any]]) -> Ledger:
        """Return the ledger that `arrays` described."""
        ids, units = arrays[_IDS], arrays[_UNITS]
        return cls(scope=scope, ids=ids, units=units, fresh=np.zeros(len(ids), dtype=np.int64))
