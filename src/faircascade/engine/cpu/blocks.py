"""Users of TopRank in the compiled engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faircascade.engine.cpu.kernels.blocks import serve_blocks, sort_into_blocks
from faircascade.engine.cpu.records import StepCounts, Trace
from faircascade.engine.cpu.table_records import PairDraws, PairRules, Pairs, PairScratch
from faircascade.engine.cpu.users import Served
from faircascade.engine.job import Job
from faircascade.estimators.toprank import check_few, lead_needed
from faircascade.policies import BanditState
from faircascade.random import draws as words

LEARNED = ("wins", "better", "served")


class BlockUsers(Served):
    """The users of TopRank, each with a number for each pair of items."""

    kernel = staticmethod(serve_blocks)
    understands = frozenset({"compares", "delta"})
    estimates_by = "estimator 'toprank'"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.pair_rules = pack_rules(job)
        keys = job.env.users.keys
        self.pair_draws = PairDraws(
            attraction=words(job.seed, "attraction", keys),
            tie=words(job.seed, "tie", keys),
            visit=words(job.seed, "visit", keys),
            examination=words(job.seed, "examination", keys),
            chances=job.chances,
        )
        names = check_few(job.env.items.ids[self.packed.rows].astype(str))
        self.by_name = np.argsort(names)
        self.names = names[self.by_name]
        self.pairs = start_pairs(len(job.env.users), len(names))
        self.kept = {name: getattr(self.pairs, name).copy() for name in LEARNED}

    def make_scratch(self) -> PairScratch:
        k, p = self.job.env.k, len(self.names)
        return PairScratch(
            slate=np.zeros(k, dtype=np.int32),
            lots=np.zeros(k, dtype=np.uint64),
            hit=np.zeros(p, dtype=np.bool_),
            clicks=np.zeros(k, dtype=np.bool_),
            ideal_clicks=np.zeros(k, dtype=np.bool_),
            chances=np.zeros(k + 1),
        )

    def serve(self, *where: Any) -> None:
        self.kernel(self.packed, self.numbers, self.pair_draws, self.pair_rules, self.pairs, *where)

    def resume(self, state: BanditState) -> None:
        learned, pairs = self.job.policy.arrays(state), self.pairs
        if not len(learned["ids"]):
            return
        pairs.served[:] = True
        here = np.argsort(self.by_name)
        wins = (learned["lead"] + learned["apart"]) // 2
        pairs.wins[:] = wins[:, here[:, None], here]
        pairs.better[:] = learned["better"][:, here[:, None], here]
        for user in range(len(pairs.better)):
            sort_into_blocks(pairs.better[user], pairs.order[user], pairs.block[user])
        self._copy()

    def keep(self, last: int, books: Sequence[StepCounts], trace: Trace) -> None:
        self._copy()

    def _copy(self) -> None:
        for name, kept in self.kept.items():
            kept[:] = getattr(self.pairs, name)

    def state(self) -> BanditState:
        """Return the estimator's state: no items before the first slate, and all from then on."""
        if not self.kept["served"].any():
            return super().state()  # type: ignore[no-any-return]
        here = self.by_name
        wins, better = (self.kept[name][:, here[:, None], here] for name in ("wins", "better"))
        losses = wins.transpose(0, 2, 1)
        arrays = {
            "ids": self.names,
            "lead": wins - losses,
            "apart": wins + losses,
            "better": better,
        }
        state: BanditState = self.job.policy.restore(self.job.env.users, arrays)
        return state


def pack_rules(job: Job) -> PairRules:
    given: dict[str, Any] = {}
    for part in job.policy.components:
        given |= {**part.kernel(), **part.kernel_for(job.env.k)}
    return PairRules(
        k=job.env.k,
        delta=given["delta"],
        least=lead_needed(1.0, given["delta"]) ** 2 * (1.0 - 1e-9),  # the logarithm only grows
        until=given["until"],
        noticed=np.array(given["noticed"]),
        plain=False,
        realised=bool(job.realised),
        traced=job.trace is not None,
    )


def start_pairs(n: int, p: int) -> Pairs:
    """Return what is known without feedback: all items are one block."""
    return Pairs(
        wins=np.zeros((n, p, p), dtype=np.int32),
        better=np.zeros((n, p, p), dtype=np.bool_),
        served=np.zeros(n, dtype=np.bool_),
        order=np.tile(np.arange(p, dtype=np.int32), (n, 1)),
        block=np.zeros((n, p), dtype=np.int32),
    )
