"""Account of the exposure that items, groups or suppliers have had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError, check_choice
from faircascade.metrics.tally import discounts
from faircascade.rerankers.recipients import ITEM, Recipients, recipients_of
from faircascade.types import Floats, Ids, Ints, Items, Rows

Scope = Literal["user", "global"]
"""`user`: an account for each, so that users stay independent. `global`: one for all."""

UNIT = 2.0**-16
"""Exposure is counted in whole units of this, so that it adds up to the same in any order."""
DEAREST = 2.0**16
"""Merit below the largest divided by this counts as that much, so that no sum overflows."""

_IDS, _UNITS, _MEMORY = "ledger/items", "ledger/units", "ledger/memory/"


def check_scope(ledger: str) -> None:
    """Refuse an unknown scope."""
    check_choice("ledger", ledger, get_args(Scope))


def exposure_units(k: int) -> Ints:
    """Return what an appearance at each position counts, 1 / log2(1 + position) in units, (k,)."""
    return np.rint(discounts(k) / UNIT).astype(np.int64)


def prices(merit: Floats) -> Floats:
    """Return what exposure costs each item: the largest merit over its own, (m,)."""
    return np.asarray(np.minimum(merit.max() / merit, DEAREST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an account is about."""

    scope: Scope
    by: str = ITEM
    """Who is credited: `item`, or the groups of a column of the items, such as `supplier`."""
    half_life: float | None = None
    """Rounds after which exposure counts half, > 0; None if it counts for ever. A round of a user's
    own account is a slate of theirs."""
    discounted: bool = True
    """Whether an appearance counts 1 / log2(1 + position); else each counts 1."""

    def __post_init__(self) -> None:
        check_scope(self.scope)
        if self.half_life is not None and not self.half_life > 0:
            raise ParameterError("half_life", "must be positive", self.half_life)

    @property
    def kept(self) -> float:
        """What is left of exposure a round later."""
        return 1.0 if self.half_life is None else float(2.0 ** (-1.0 / self.half_life))

    @property
    def unserved(self) -> str:
        """Why sums of exposure by item do not tell what is in the account, if that is so."""
        reasons = {
            "it keeps account of groups, which the service does not": self.by != ITEM,
            "its account forgets, which that of the service does not": self.half_life is not None,
            "it counts appearances, and the service exposure by position": not self.discounted,
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    def gained(self, k: int) -> Ints:
        """Return what an appearance at each position counts, in units, (k,)."""
        return exposure_units(k) if self.discounted else np.full(k, round(1 / UNIT))


@dataclass(kw_only=True, eq=False)
class Ledger:
    """Exposure of every recipient so far. A global one takes a round in when the round is over.

    Columns follow the catalogue from slate to slate: a new recipient starts with nothing. Where
    exposure loses weight with time, each round multiplies the account and rounds down to whole
    units, before the next is added. Everybody who knows the account before a round and what was
    shown in it so arrives at the same numbers, however the round was divided.
    """

    terms: Terms
    ids: Ids
    """Ids of the items or names of the groups, (r,)."""
    units: Ints
    """Exposure in units, one row per user or one for all, (n or 1, r)."""
    fresh: Ints
    """Exposure of the current round, for a global ledger, (r,)."""
    memory: dict[str, Floats] = field(default_factory=dict)
    """What a re-ranker with a global ledger keeps besides, by name, (r,) each."""
    latest: Recipients | None = None
    """The recipients that were looked at last."""

    @classmethod
    def of(cls, terms: Terms | Scope, users: int) -> Ledger:
        """Return an account of nothing, without recipients so far."""
        terms = as_terms(terms)
        rows = users if terms.scope == "user" else 1
        return cls(
            terms=terms,
            ids=np.empty(0, dtype=np.int64),
            units=np.zeros((rows, 0), dtype=np.int64),
            fresh=np.zeros(0, dtype=np.int64),
        )

    @classmethod
    def of_items(cls, terms: Terms, items: Items, units: Ints) -> Ledger:
        """Return the account that follows from the exposure of items, (n or 1, m)."""
        recipients = recipients_of(items, terms.by)
        credited = units if terms.by == ITEM else recipients.added(units)
        fresh = np.zeros(len(recipients), dtype=np.int64)
        return cls(terms=terms, ids=recipients.ids, units=credited, fresh=fresh)

    @property
    def scope(self) -> Scope:
        return self.terms.scope

    def recipients(self, items: Items) -> Recipients:
        """Return who is credited with the exposure of these items, each with a column."""
        found = recipients_of(items, self.terms.by)
        self.follow(found.ids)
        self.latest = found
        return found

    def follow(self, ids: Ids) -> None:
        """Give every recipient its column."""
        if self.ids is ids or np.array_equal(self.ids, ids):
            return
        self.units = self._columns(self.units, ids)
        self.fresh = self._columns(self.fresh, ids)
        self.memory = {name: self._columns(array, ids) for name, array in self.memory.items()}
        self.ids = ids

    def _columns(self, values: NDArray[Any], ids: Ids) -> NDArray[Any]:
        spread = np.zeros((*values.shape[:-1], len(ids)), dtype=values.dtype)
        if len(self.ids):
            _, old, new = np.intersect1d(self.ids, ids, return_indices=True)
            spread[..., new] = values[..., old]
        return spread

    def _rows(self, rows: Rows) -> Ints:
        return self.units[rows] if self.scope == "user" else self.units

    def exposure(self, rows: Rows, items: Items) -> Floats:
        """Return the exposure of every recipient for some users, (n or 1, r)."""
        self.recipients(items)
        return np.asarray(self._rows(rows) * UNIT)

    def worth(self, rows: Rows, items: Items) -> Ints:
        """Return exposure / merit of recipients for some users, up to a factor, (n or 1, r)."""
        recipients = self.recipients(items)
        return np.rint(self._rows(rows) * prices(recipients.merit)).astype(np.int64)

    def recall(self, name: str, items: Items) -> Floats:
        """Return what a re-ranker has noted of every recipient, 0 if nothing, (r,)."""
        self.recipients(items)
        return self.memory.get(name, np.zeros(len(self.ids)))

    def enter(self, rows: Rows, slates: Ints, items: Items) -> None:
        """Take in slates of catalogue rows (n, K) shown to some users."""
        recipients = self.recipients(items)
        gained = np.broadcast_to(self.terms.gained(slates.shape[1]), slates.shape).ravel()
        places, into = recipients.of(slates.ravel())
        if self.scope == "global":
            np.add.at(self.fresh, into, gained[places])
        else:
            accounts = np.arange(len(self.units))[rows]
            if self.terms.half_life is not None:
                self.units[accounts] = self._later(self.units[accounts])
            whose = np.repeat(accounts, slates.shape[1])
            np.add.at(self.units, (whose[places], into), gained[places])

    def enter_appearances(self, appearances: Ints, items: Items) -> None:
        """Take in how often each item stood at each position in a round, (m, K), if global."""
        recipients = self.recipients(items)
        shown = appearances.astype(np.int64) @ self.terms.gained(appearances.shape[1])
        self.fresh += recipients.added(shown)

    def _later(self, units: Ints) -> Ints:
        """Return what is left of exposure a round later."""
        kept = self.terms.kept
        return units if kept == 1.0 else np.floor(units * kept).astype(np.int64)

    def give_back(self, rows: Rows, items: Ids, shown: Ints) -> None:
        """Take back what items (n, K) of slates were entered with below the positions shown, (n,);
        those that are gone have no account any more.

        An account that forgets takes back as much as if it had entered them now, and goes no lower
        than nothing.
        """
        below = np.arange(items.shape[1]) >= shown[:, None]
        alone = self.terms.by == ITEM
        if not below.any() or (self.latest is None and not alone):
            return
        users, places = np.nonzero(below)
        names = self.ids if alone or self.latest is None else self.latest.names
        row_of = {name: row for row, name in enumerate(names.tolist())}
        found = np.array([row_of.get(i, -1) for i in items[below].tolist()], dtype=np.int64)
        there = found >= 0
        units = self.terms.gained(items.shape[1])[places[there]]
        whose, into = np.arange(len(units)), found[there]
        if not alone and self.latest is not None:
            whose, into = self.latest.of(found[there])
        if self.scope == "global":
            np.subtract.at(self.fresh, into, units[whose])
            return
        accounts = np.arange(len(self.units))[rows][users[there]]
        np.subtract.at(self.units, (accounts[whose], into), units[whose])
        if self.terms.half_life is not None:
            np.maximum(self.units, 0, out=self.units)

    def absorb(self) -> None:
        """Take in, between two rounds of a global account, what was entered or given back."""
        self.units = np.maximum(self.units + self.fresh, 0)
        self.fresh = np.zeros_like(self.fresh)

    @staticmethod
    def settle(parts: Sequence[Ledger]) -> Ints:
        """End a round: every part of a global ledger takes in what all parts showed.

        Returns what that was, (r,).
        """
        ids = max((part.ids for part in parts), key=len)
        for part in parts:
            part.follow(ids)
        shown: Ints = np.sum([part.fresh for part in parts], axis=0)
        for part in parts:
            part.units = part._later(part.units) + shown
            part.fresh = np.zeros_like(shown)
        return shown

    @classmethod
    def join(cls, parts: Sequence[Ledger]) -> Ledger:
        """Return one ledger for the users of several, in their order."""
        if parts[0].scope == "global":
            return parts[0].take(slice(None))
        known = [part.ids for part in parts if len(part.ids)] or [parts[0].ids]
        same = all(np.array_equal(known[0], ids) for ids in known)
        ids = known[0] if same else reduce(np.union1d, known)
        return cls(
            terms=parts[0].terms,
            ids=ids,
            units=np.concatenate([part._columns(part.units, ids) for part in parts]),
            fresh=np.zeros(len(ids), dtype=np.int64),
        )

    def take(self, rows: Rows) -> Ledger:
        """Return a copy for some of the users."""
        return Ledger(
            terms=self.terms,
            ids=self.ids,
            units=self._rows(rows).copy(),
            fresh=self.fresh.copy(),
            memory={name: array.copy() for name, array in self.memory.items()},
            latest=self.latest,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the account as arrays, to be stored: an account of nothing is without recipients,
        whether or not somebody has looked at it."""
        noted = {_MEMORY + name: array for name, array in self.memory.items()}
        if not (noted or self.units.any()):
            nothing = Ledger.of(self.terms, len(self.units))
            return {_IDS: nothing.ids, _UNITS: nothing.units}
        return {_IDS: self.ids, _UNITS: self.units, **noted}

    @classmethod
    def restore(cls, terms: Terms | Scope, arrays: Mapping[str, NDArray[Any]]) -> Ledger:
        """Return the ledger that `arrays` described."""
        ids, units = arrays[_IDS], arrays[_UNITS]
        noted = {n.removeprefix(_MEMORY): a for n, a in arrays.items() if n.startswith(_MEMORY)}
        fresh = np.zeros(len(ids), dtype=np.int64)
        return cls(terms=as_terms(terms), ids=ids, units=units, fresh=fresh, memory=noted)


def as_terms(terms: Terms | Scope) -> Terms:
    """Return the terms of an account of items of which nothing but the scope is said."""
    return terms if isinstance(terms, Terms) else Terms(scope=terms)
