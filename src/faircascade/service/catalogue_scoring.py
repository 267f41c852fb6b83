"""Slates out of the whole catalogue, segment by segment.

A policy that is `itemwise` chooses the best items by scores that do not depend on each other, and
arranges them. So the best of all are among the best of each segment, and items that a request
leaves out are skipped: no pool has to be made for it. The slates are those of `Policy.recommend`
over the whole catalogue without these items, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from faircascade.policies.composed import BanditState, ComposedPolicy
from faircascade.propensities import Propensities
from faircascade.ranking import RESOLUTION, Scores, tie_lots
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.pieces import Piece
from faircascade.service.catalogue.segment import Segment
from faircascade.service.catalogue.selection import Selection
from faircascade.service.new_users import NewUsers
from faircascade.service.rules.quotas import AHEAD, Quotas, Walk
from faircascade.service.scoring import (
    RankedSlate,
    ScoringJob,
    propensities_of_each,
    ranked_slates,
)
from faircascade.service.shortlists import NOTHING, Shortlist, Shortlists
from faircascade.types import Ints, Items, Pool, Rows, SlatePropensities, Slates, Users

_NO_ROWS = np.empty(0, dtype=np.int64)
_USERS = 64
"""Users who are scored together: enough for fast products, few enough for the cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CatalogueJob(ScoringJob):
    """Slates out of all items but some, which may be of different lengths."""

    policy: ComposedPolicy
    catalogue: Catalogue
    new_users: NewUsers
    lengths: Sequence[int]
    """How many items each user gets."""
    without: Sequence[Ints]
    """Rows that are left out for each, ascending."""
    units: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Exposure units of every item of the catalogue, (m,), if they count."""
    selection: Selection | None = None
    """Among which items, if not all."""
    quotas: Quotas | None = None
    pinned: Sequence[Ints] = ()
    """Rows that stand in each slate already and count for quotas, if there are any."""

    @property
    def size(self) -> int:
        copied = 0 if self.selection is None else 2 * len(self.catalogue)  # at most, and once
        return len(self.users) * self.items + copied

    @property
    def items(self) -> int:
        """How many items there are, with those that are left out."""
        return len(self.catalogue) if self.selection is None else self.selection.count

    @cached_property
    def pieces(self) -> Sequence[Piece]:
        """What is scored, one after the other."""
        return self.catalogue.pieces if self.selection is None else self.selection.make()

    def left(self, row: int) -> int:
        """Return how many items there are for one of the users."""
        without = self.without[row]
        gone = without if self.selection is None else self.selection.of(without)
        return self.items - len(gone)

    def everybody(self, items: Items) -> Ints:
        return self.units[np.searchsorted(self.catalogue.slots, items.ids)]

    def run(self) -> list[RankedSlate]:
        known = self.sums.any(axis=1)
        alike = ~known & self.policy.same_for_new_users
        out: dict[int, RankedSlate] = {}
        for kind in (alike, ~alike):
            rows = np.flatnonzero(kind)
            for first in range(0, len(rows), _USERS):
                part = rows[first : first + _USERS]
                slates = _Part(self, part).slates(shared=kind is alike)
                out.update(zip(part.tolist(), slates, strict=True))
        return [out[place] for place in range(len(self.users))]


class _Part:
    """Some of the users of a job."""

    def __init__(self, job: CatalogueJob, part: Ints) -> None:
        self.job, self.part = job, part
        self.rounds = job.rounds[part]
        self.k = np.array([job.lengths[row] for row in part.tolist()])
        self.without = [job.without[row] for row in part.tolist()]
        users = Users(ids=np.array([job.users[row] for row in part.tolist()]))
        dim = job.policy.dim_of(job.catalogue.blank)
        self.state: BanditState = job.policy.from_sums(users, job.sums[part], dim)
        self.lots = tie_lots(job.seed, users.keys, self.rounds)
        self.depth = np.array(
            [
                job.policy.considers(int(k), job.left(row))
                for k, row in zip(self.k, part.tolist(), strict=True)
            ]
        )

    def slates(self, *, shared: bool) -> list[RankedSlate]:
        """Return their slates; `shared` says that their scores are those of all new users."""
        if self.job.quotas is not None:
            found = self._walked(self.job.quotas, shared=shared)
            self.depth = np.array([len(short.rows) for short in found])
            self.k = np.minimum(self.k, self.depth)
        else:
            found = self._new() if shared else self._scored()
        out: dict[int, RankedSlate] = {}
        for k, depth in sorted(set(zip(self.k.tolist(), self.depth.tolist(), strict=True))):
            rows = np.flatnonzero((self.k == k) & (self.depth == depth))
            if not k:
                out.update(dict.fromkeys(rows.tolist(), self.job.nothing))
                continue
            ranked = self._arranged(rows, k, [found[row] for row in rows.tolist()])
            out.update(zip(rows.tolist(), ranked, strict=True))
        return [out[row] for row in range(len(self.part))]

    def _new(self) -> list[Shortlist]:
        remembered, catalogue = self.job.new_users, self.job.catalogue
        return [
            remembered.shortlist(catalogue, depth, lot, left_out, self.job.selection)
            for depth, lot, left_out in zip(
                self.depth.tolist(), self.lots, self.without, strict=True
            )
        ]

    def _scored(self, walks: Sequence[Walk] = ()) -> list[Shortlist]:
        """Return the best items of each user, without those that walks have no room for."""
        lists = Shortlists(self.depth, self.lots)
        for piece in self.job.pieces:
            left_out = [piece.without(rows) for rows in self.without]
            for user, walk in enumerate(walks):
                left_out[user] = np.union1d(left_out[user], walk.closed(piece))
            if walks and min(map(len, left_out)) == len(piece.segment):
                continue
            scoring = _SegmentScoring(self, piece.segment)
            lists.offer(scoring.pool, piece.rows_of, left_out, scoring)
        return lists.found

    def _walked(self, quotas: Quotas, *, shared: bool) -> list[Shortlist]:
        """Return the best items of each user that keep the quotas, see `Quotas`."""
        job, rows = self.job, self.part.tolist()
        pinned = job.pinned or [_NO_ROWS] * len(job.users)
        walks = [
            Walk(quotas, job.catalogue, depth, pinned[row])
            for depth, row in zip(self.depth.tolist(), rows, strict=True)
        ]
        found = [NOTHING] * len(rows)
        going, part = list(range(len(rows))), self
        while going:
            ahead = [AHEAD * walks[user].wanted for user in going]
            part.depth = np.array(ahead)
            first = part is self
            lists = (
                part._new()
                if first and shared
                else part._scored([] if first else [walks[u] for u in going])
            )
            for user, listed in zip(going, lists, strict=True):
                found[user] = found[user].with_others(listed.take(walks[user].along(listed.rows)))
            going = [
                user
                for user, listed, depth in zip(going, lists, ahead, strict=True)
                if len(listed.rows) == depth and not walks[user].done
            ]
            part = _Part(job, self.part[going]) if going else part
        return found

    def _arranged(self, rows: Ints, k: int, best: Sequence[Shortlist]) -> list[RankedSlate]:
        """Return slates of one length, made of the best items of some of the users."""
        job, listed = self.job, np.stack([short.rows for short in best])  # (n, depth)
        union = np.unique(listed)
        pool = job.catalogue.excerpt(union)
        values = np.stack([short.values for short in best])
        slates = Slates(items=pool.rows[np.searchsorted(union, listed)], scores=values * RESOLUTION)
        request = job.policy.request(
            self.state, rows, pool, k, round=self.rounds[rows], seed=job.seed
        )
        ledger = job.ledger(self.part, pool.items)
        arranged = job.policy.arranged(request, slates, ledger)
        if not job.rates or job.quotas is not None:  # nobody knows the chances of what quotas leave
            return ranked_slates(arranged, pool.items)
        if job.policy.keeps_scores:  # nothing depends on any but the best items
            return ranked_slates(arranged, pool.items, self._rated(rows, pool, arranged.items))
        slots = pool.items.ids[arranged.items]
        return [
            replace(slate, propensities=self._rated_among_all(row, slots[n : n + 1]))
            for n, (row, slate) in enumerate(
                zip(rows.tolist(), ranked_slates(arranged, pool.items), strict=True)
            )
        ]

    def _rated_among_all(self, row: int, slots: Ints) -> SlatePropensities | None:
        """Return how likely a slate was among all items that its user could have had."""
        whole = self.job.catalogue.whole
        pool = whole
        if self.job.selection is not None:
            rows = np.setdiff1d(self.job.selection.rows, self.without[row], assume_unique=True)
            pool = whole.items.among(rows)
        elif len(self.without[row]):
            pool = whole.items.among(np.delete(whole.rows, self.without[row]))
        known = self._rated(np.array([row]), pool, np.searchsorted(pool.items.ids, slots))
        return None if known is None else propensities_of_each(known)[0]

    def _rated(self, rows: Ints, pool: Pool, slates: Ints) -> Propensities | None:
        """Return how likely slates of some of the users were."""
        state = self.state
        if state.ledger is not None:
            state = replace(state, ledger=self.job.ledger(self.part, pool.items))
        return self.job.policy.propensities(
            state, rows, pool, slates, round=self.rounds[rows], seed=self.job.seed
        )


class _SegmentScoring:
    """Scores of a segment for some of the users of a part."""

    def __init__(self, part: _Part, segment: Segment) -> None:
        policy = part.job.policy
        # a re-ranker that changes scores may need them in double precision
        self.pool = segment.rough_pool if policy.keeps_scores else segment.pool
        self._part = part
        self._ledger = None
        if not policy.keeps_scores:
            self._ledger = part.job.ledger(part.part, self.pool.items)

    def __call__(self, rows: Rows) -> Scores:
        part, policy = self._part, self._part.job.policy
        request = policy.request(
            part.state, rows, self.pool, 1, round=part.rounds[rows], seed=part.job.seed
        )
        return policy.ranked_by(request, self._ledger)
