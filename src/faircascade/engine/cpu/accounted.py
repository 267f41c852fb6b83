"""Users of one account of exposure in the compiled engine: round by round, as each counts for all.

The account and what it makes of scores are the re-ranker's own business, in NumPy: once for a round
it computes a shift, which is the same for all users, and the kernels add it to the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.engine.cpu.records import StepCounts, Trace
from faircascade.engine.cpu.users import Learning
from faircascade.engine.job import Job
from faircascade.policies import ComposedPolicy
from faircascade.registry import Component
from faircascade.rerankers import Ledger
from faircascade.rerankers.shifts import ShiftingReranker


class AccountedUsers(Learning):
    """Users whose scores are moved by what all of them were shown."""

    round_by_round = True

    def __init__(self, job: Job) -> None:
        assert isinstance(job.policy, ComposedPolicy)
        reranker = job.policy.parts.reranker
        assert isinstance(reranker, ShiftingReranker)
        self.reranker = reranker
        super().__init__(job)

    @classmethod
    def refuses(cls, part: Component) -> bool:
        return False

    def pack_ledger(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._shift()

    def _shift(self) -> None:
        """Compute what the account makes of scores in the next round."""
        env = self.job.env
        shift = self.reranker.shift(self.ledger, slice(0, 1), env.items, env.k)
        kept, added = shift.among(self.packed.rows, 1)
        self.account.kept[:], self.account.added[:] = kept[0], added[0]

    def keep(self, last: int, books: Sequence[StepCounts], trace: Trace) -> None:
        super().keep(last, books, trace)
        items = self.job.env.items
        appearances = np.sum([book.appearances for book in books], axis=0)
        self.ledger.enter_appearances(appearances, items)
        self.reranker.settle([self.ledger])
        self._shift()

    def ledger_arrays(self) -> dict[str, NDArray[Any]]:
        return self.ledger.arrays()
