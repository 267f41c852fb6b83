"""Users of a bandit on topics in the compiled engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.cpu import memory
from faircascade.engine.cpu.kernels.topical import serve_topical
from faircascade.engine.cpu.records import ITEMS, USERS, Shortlist
from faircascade.engine.cpu.topical_records import CORNERED, TopicalItems, TopicalScratch
from faircascade.engine.cpu.users import Learning
from faircascade.engine.job import Job

MOST_TERMS = 1 << 21
"""Of the scores of items, that are kept from one position to the next: 16 MiB."""


class TopicalUsers(Learning):
    """The users of a bandit on topics."""

    kernel = staticmethod(serve_topical)

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.topical = pack_items(job, self.shortlist)

    def start_shortlist(self) -> Shortlist:
        """Return room for one set of items, which are held from round to round."""
        d = self.job.policy.dim_of(self.job.env.items)
        held = min(len(self.packed.keys), memory.LARGEST_SET)
        return memory.start_sets(self.packed, self.rules, d, 0, [held])

    def make_scratch(self) -> Any:
        return super().make_scratch(), make_topical_scratch(self.topical, self.rules.k)

    def serve(self, books: Any, trace: Any, scratch: Any, *where: Any) -> None:
        parts = (self.numbers, self.draws, self.rules, self.sums, self.shortlist)
        self.kernel(self.packed, self.topical, *parts, books, trace, *scratch, *where)


def pack_items(job: Job, shortlist: Shortlist) -> TopicalItems:
    """Pack what a bandit on topics learns from."""
    pool = job.env.items.pool
    topics, d = pool.by_topic.items.dim, job.policy.dim_of(job.env.items)
    view = pool.with_topics if d > topics else pool.by_topic
    rows = np.array(view.by_feature.T, order="C")
    covered = rows[:, d - topics :] > 0.0
    order = np.argsort(covered.sum(axis=1), kind="stable").astype(np.int32)
    norms = memory.zeros(memory.up(len(rows), ITEMS))
    norms[: len(rows)] = view.norms[order]
    return TopicalItems(
        rows=rows,
        first=d - topics,
        norms=np.array(view.norms),
        radius=view.radius,
        order=order,
        norms_in_order=norms,
        start=np.append(0, np.cumsum(covered.sum(axis=1))),
        column=(d - topics + np.nonzero(covered)[1]).astype(np.int32),
        value=rows[:, d - topics :][covered],
        most=int(covered.sum(axis=1).max()),
        needed=memory.zeros(len(job.env.users)),
        bounds=memory.zeros(*shortlist.sets.shape),
        fewest=np.zeros(len(job.env.users), dtype=np.int64),
        spent=np.zeros(len(job.env.users), dtype=np.int64),
        lazy=bool(job.lazy),
    )


def make_topical_scratch(topical: TopicalItems, k: int) -> TopicalScratch:
    """Return scratch space for one thread."""
    (p, d), padded = topical.rows.shape, len(topical.norms_in_order)
    terms = ITEMS * max(1, 3 * topical.most + topical.most * (topical.most - 1) // 2)
    blocks = max(1, min(padded // ITEMS, MOST_TERMS // terms))
    return TopicalScratch(
        left=memory.zeros(d),
        posterior=memory.zeros(d),
        A=memory.zeros(d * d),
        block=memory.zeros(topical.first * (topical.first + 1) // 2 * USERS),
        allowance=memory.zeros(1),
        base=memory.zeros(padded),
        squares=memory.zeros(padded),
        now=memory.zeros(padded),
        terms=memory.zeros(blocks * terms),
        topics=np.zeros(blocks * topical.most * ITEMS, dtype=np.int32),
        many=np.zeros(blocks, dtype=np.int64),
        lefts=memory.zeros(topical.most * ITEMS),
        corner_means=memory.zeros(ITEMS << CORNERED),
        corner_squares=memory.zeros(ITEMS << CORNERED),
        more=memory.zeros(ITEMS << CORNERED),
        near=np.zeros(p, dtype=np.int32),
        highest=memory.zeros(ITEMS),
        sifted=np.zeros(p + 1, dtype=np.int32),
        column=np.zeros(d, dtype=np.int32),
        x=memory.zeros(d * ITEMS),
        derived=memory.zeros(k, d),
        places=np.arange(k, dtype=np.int32),
    )
