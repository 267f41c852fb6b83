"""Users of a tabular bandit in the compiled engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.engine.cpu import memory
from faircascade.engine.cpu.click_numbers import CASCADE, click_numbers
from faircascade.engine.cpu.kernels.tabular import UNKNOWN, serve_table
from faircascade.engine.cpu.records import ITEMS, StepCounts, Trace
from faircascade.engine.cpu.table_records import (
    INDICES,
    MEMORY,
    Table,
    TableDraws,
    TableRules,
    TableScratch,
)
from faircascade.engine.cpu.users import Served
from faircascade.engine.job import Job, not_finite
from faircascade.estimators.item_sums import ItemSums
from faircascade.exploration.table_thompson import GAMMAS, GAUSSIAN, TRIALS
from faircascade.observations.base import FIRST_CLICK, LAST_CLICK
from faircascade.policies import BanditState
from faircascade.random import draws as words
from faircascade.types import Ints

LEARNED = ("targets", "positions", "seen")
"""Sums of items, in the order of the estimator."""


class TabularUsers(Served):
    """The users of a tabular bandit, each with a table."""

    kernel = staticmethod(serve_table)
    understands = frozenset({"tabular", "index", "strength"})
    estimates_by = "a tabular estimator"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.table_rules = pack_rules(job)
        self.table_draws = pack_draws(job)
        n, p = len(job.env.users), len(self.packed.keys)
        self.table = start_table(n, p)
        self.kept = {name: getattr(self.table, name).copy() for name in (*LEARNED, "slates")}
        names = job.env.items.ids[self.packed.rows].astype(str)
        self.by_name = np.argsort(names)
        self.names = names[self.by_name]

    def make_scratch(self) -> TableScratch:
        k, p = self.job.env.k, len(self.packed.keys)
        return TableScratch(
            slate=np.zeros(k, dtype=np.int32),
            values=np.zeros(k),
            lots=np.zeros(k, dtype=np.uint64),
            scores=np.zeros(p),
            clicks=np.zeros(k, dtype=np.bool_),
            ideal_clicks=np.zeros(k, dtype=np.bool_),
            chances=np.zeros(k + 1),
            known=np.full((MEMORY, 5), -1.0),
        )

    def serve(self, *where: Any) -> None:
        self.kernel(
            self.packed, self.numbers, self.table_draws, self.table_rules, self.table, *where
        )

    def resume(self, state: BanditState) -> None:
        arrays = self.job.policy.arrays(state)
        columns = self.by_name[np.searchsorted(self.names, arrays["items"])]
        for name, sums in zip(LEARNED, arrays["item_sums"], strict=True):
            getattr(self.table, name)[:, columns] = sums
        self.table.slates[:] = arrays["slates"]
        self._copy()

    def keep(self, last: int, books: Sequence[StepCounts], trace: Trace) -> None:
        if not np.isfinite(self.table.targets).all():
            raise not_finite(self.job, last)
        self._copy()

    def _copy(self) -> None:
        for name, kept in self.kept.items():
            kept[:] = getattr(self.table, name)

    def state(self) -> BanditState:
        users = self.job.env.users
        state: BanditState = self.job.policy.restore(users, self._arrays())
        return state

    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of the estimator: items that somebody saw, in the order of names."""
        met: Ints = np.flatnonzero(self.kept["positions"].any(axis=0)[self.by_name])
        columns = self.by_name[met]
        return {
            "items": self.names[met] if len(met) else ItemSums.start(0).ids,
            "item_sums": np.stack([self.kept[name][:, columns] for name in LEARNED]),
            "slates": self.kept["slates"].copy(),
            "row_of": np.arange(len(self.kept["slates"])),
        }


def pack_rules(job: Job) -> TableRules:
    k = job.env.k
    given: dict[str, Any] = {"strength": 1.0, "noticed": np.ones(k)}
    for part in job.policy.components:
        given.update(part.kernel())
        given.update(part.kernel_for(k))
    table, model = job.policy.reward_table(k), click_numbers(job.env).model
    assert table is not None
    return TableRules(
        k=k,
        ranks_by=INDICES.index(given["index"]),
        strength=given["strength"],
        clicked=table.clicked / table.largest,
        ignored=table.ignored / table.largest,
        until=given["until"],
        noticed=np.array(given["noticed"]),
        plain=model == CASCADE and given["until"] in (FIRST_CLICK, LAST_CLICK),
        realised=bool(job.realised),
        traced=job.trace is not None,
        lazy=bool(job.lazy),
    )


def pack_draws(job: Job) -> TableDraws:
    keys, seed = job.env.users.keys, job.seed
    return TableDraws(
        attraction=words(seed, "attraction", keys),
        tie=words(seed, "tie", keys),
        visit=words(seed, "visit", keys),
        chances=job.chances,
        examination=words(seed, "examination", keys),
        radius=words(seed, GAUSSIAN + "/radius", keys),
        angle=words(seed, GAUSSIAN + "/angle", keys),
        gammas=np.stack([words(seed, gamma + trial, keys) for gamma in GAMMAS for trial in TRIALS]),
    )


def start_table(n: int, p: int) -> Table:
    """Return what is known of users without feedback."""
    padded = memory.up(p, ITEMS)
    base = memory.filled(UNKNOWN, n, padded)
    base[:, p:] = -np.inf
    return Table(
        targets=np.zeros((n, p)),
        positions=np.zeros((n, p)),
        seen=np.zeros((n, p)),
        slates=np.zeros(n, dtype=np.int64),
        base=base,
        slope=memory.zeros(n, padded),
        reach=np.full(n, -np.inf),
        margin=np.zeros(n),
    )
