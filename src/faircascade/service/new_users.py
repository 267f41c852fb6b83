"""What new users are shown: scores that all of them share, and ties that each has for itself.

Nothing is known of them, so an item has the same score for all. Often all items have the same one,
too: then a slate is a matter of ties alone, one hash for each item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from faircascade.policies.composed import ComposedPolicy
from faircascade.random import Words, absorb
from faircascade.ranking import RESOLUTION
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.pieces import Piece
from faircascade.service.catalogue.segment import Segment
from faircascade.service.catalogue.selection import Selection
from faircascade.service.shortlists import Shortlist
from faircascade.types import Floats, Ints, Users

_FEW = 4_096
"""Tied items up to which all of them are sorted."""
_MARGIN = 4
"""How many times more items than needed are expected below the first threshold."""
_REMEMBERED = 1_000_000
"""Items in orders, about 12 bytes each, from which on those of filters are made anew."""
_LARGEST = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False)
class _Tied:
    """Items of one segment with the last score that counts."""

    keys: Words
    rows: NDArray[np.int32] | None
    """Their rows, None for all of the segment."""
    first_row: int

    def __len__(self) -> int:
        return len(self.keys)

    def below(self, lot: Words, limit: np.uint64) -> tuple[Words, Ints]:
        """Return the ties up to a limit, and the rows of the catalogue that have them."""
        ties = absorb(lot, self.keys)
        low = np.flatnonzero(ties <= limit)
        rows = low if self.rows is None else self.rows[low].astype(np.int64)
        return ties[low], self.first_row + rows


@dataclass(frozen=True, eq=False)
class _Order:
    """The items that may be among the first so many, for any new user."""

    values: Floats
    """Scores of those above the last score that counts, in multiples of the resolution."""
    keys: Words
    rows: Ints
    edge: float
    """The last score that counts."""
    tied: list[_Tied]

    def __len__(self) -> int:
        return len(self.rows) + sum(map(len, self.tied))

    def first(self, k: int, lot: Words, without: Ints) -> Shortlist:
        """Return a user's first k items, some rows left out."""
        above = Shortlist(self.values, absorb(lot, self.keys), self.rows)
        above = _left(above, without)
        needed = k - len(above.rows)
        if needed > 0:
            above = above.with_others(self._of_tied(needed, lot, without))
        return above.best(k)

    def _of_tied(self, needed: int, lot: Words, without: Ints) -> Shortlist:
        """Return at least so many of the tied items, the first ones among them."""
        total = sum(map(len, self.tied))
        share = _MARGIN * (needed + len(without)) / max(total, 1)
        limits = [] if total <= _FEW or share > 0.5 else [np.uint64(int(share * 2.0**64))]
        for limit in (*limits, _LARGEST):
            parts = [part.below(lot, limit) for part in self.tied]
            ties = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
            rows = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
            found = _left(Shortlist(np.full(len(rows), self.edge), ties, rows), without)
            if len(found.rows) >= needed:
                break
        return found


class NewUsers:
    """Remembers the scores of users of whom nothing is known."""

    def __init__(self, policy: ComposedPolicy, seed: int) -> None:
        self._policy = policy
        self._seed = seed
        self._values: WeakKeyDictionary[Segment, Floats] = WeakKeyDictionary()
        self._known: tuple[ref[Catalogue] | None, dict[tuple[int, str], _Order]] = None, {}

    @property
    def worthwhile(self) -> bool:
        """Whether there is anything that all of them share."""
        return self._policy.same_for_new_users

    def prepare(self, catalogue: Catalogue) -> None:
        """Score what was not scored before."""
        for segment in catalogue.segments:
            self._values_of(segment)

    def shortlist(
        self,
        catalogue: Catalogue,
        k: int,
        lot: Words,
        without: Ints,
        selection: Selection | None = None,
    ) -> Shortlist:
        """Return the first k items of a new user whose ties are drawn with `lot`."""
        depth = 1 << (k + len(without) - 1).bit_length()
        of, orders = self._known  # in one step: several threads may come here
        if of is None or of() is not catalogue:
            orders = {}
            self._known = ref(catalogue), orders
        key = depth, "" if selection is None else selection.key
        if key not in orders:
            if selection is not None and sum(map(len, list(orders.values()))) > _REMEMBERED:
                orders.clear()
            pieces = catalogue.pieces if selection is None else selection.make()
            orders[key] = self._order(pieces, depth)
        return orders[key].first(k, lot, without)

    def _order(self, pieces: Sequence[Piece], depth: int) -> _Order:
        columns_of = [_columns(piece) for piece in pieces]
        values = [self._values_of(piece.segment) for piece in pieces]
        for place, columns in enumerate(columns_of):
            if columns is not None and len(values[place]) == len(pieces[place].segment):
                values[place] = values[place][columns]
        tops = [_largest(v, len(piece), depth) for v, piece in zip(values, pieces, strict=True)]
        best = np.concatenate(tops)
        last = max(len(best) - depth, 0)
        edge = float(np.partition(best, last)[last])
        above: list[tuple[Floats, Words, Ints]] = []
        tied: list[_Tied] = []
        for v, piece, columns in zip(values, pieces, columns_of, strict=True):
            keys, whole = piece.segment.keys, columns is None and piece.rows is None
            if whole and len(v) < len(piece) and v[0] == edge:
                tied.append(_Tied(keys, None, piece.first_row))
                continue
            v = np.broadcast_to(v, len(piece))
            for rows, is_above in (
                (np.flatnonzero(v > edge), True),
                (np.flatnonzero(v == edge), False),
            ):
                here = rows if columns is None else columns[rows]
                if is_above:
                    above.append((v[rows], keys[here], piece.rows_of(here)))
                else:
                    rows_here = piece.rows_of(here).astype(np.int32)
                    tied.append(_Tied(keys[here], rows_here, 0))
        none = np.empty(0), np.empty(0, np.uint64), np.empty(0, np.int64)
        listed = [np.concatenate(column) for column in zip(none, *above, strict=True)]
        return _Order(listed[0], listed[1], listed[2], edge, tied)

    def _values_of(self, segment: Segment) -> Floats:
        """Return the scores of a segment in multiples of the resolution; one if all are equal."""
        known = self._values.get(segment)
        if known is None:
            policy, pool = self._policy, segment.pool
            users, dim = Users(ids=np.array([""])), policy.dim_of(pool.items)
            nobody = policy.from_sums(users, policy.sums(policy.start(users, dim)), dim)
            request = policy.request(nobody, slice(None), pool, 1, round=1, seed=self._seed)
            exact = policy.ranked_by(request, None).exact(slice(0, 1), slice(None))
            known = np.rint(np.asarray(exact).reshape(-1) / RESOLUTION)
            if (known == known[0]).all():
                known = known[:1].copy()
            self._values[segment] = known
        return known


def _columns(piece: Piece) -> Ints | None:
    """Return the columns of a piece that are meant; None for all."""
    if not len(piece.left_out):
        return None
    return np.delete(np.arange(len(piece.segment)), piece.left_out)


def _largest(values: Floats, items: int, k: int) -> Floats:
    """Return the k largest of the scores of so many items, in no order."""
    if len(values) < items:
        return np.full(min(items, k), values[0])
    return values if len(values) <= k else np.partition(values, len(values) - k)[-k:]


def _left(found: Shortlist, without: Ints) -> Shortlist:
    """Return what is left without some rows."""
    if not len(without):
        return found
    stay = ~np.isin(found.rows, without)
    return Shortlist(found.values[stay], found.keys[stay], found.rows[stay])
