"""Users of one model in the compiled engine: round by round, as everybody learns from all.

What is learned is the estimator's own business, in NumPy. All users have the same scores, so these
are computed once for a round; the kernel of the yardsticks ranks them, where only ties differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from faircascade.engine.cpu import memory
from faircascade.engine.cpu.kernels.yardstick import serve_yardstick
from faircascade.engine.cpu.records import Contenders, StepCounts, Trace
from faircascade.engine.cpu.users import Scored
from faircascade.engine.job import Job, not_finite
from faircascade.metrics.tally import BY_ROUND, to_units
from faircascade.numerics import one_blas_thread
from faircascade.policies import BanditState, ComposedPolicy
from faircascade.propensities import is_drawn
from faircascade.ranking import RESOLUTION
from faircascade.registry import Component
from faircascade.types import Feedback, Rows


class SharedUsers(Scored):
    """Users who all have one model, and slates without luck but for ties."""

    kernel = staticmethod(serve_yardstick)
    understands = frozenset({"shared", "alpha", "index", "strength"})
    estimates_by = "an estimator that users share"
    round_by_round = True

    def __init__(self, job: Job) -> None:
        super().__init__(replace(job, lazy=False))
        assert isinstance(job.policy, ComposedPolicy)
        self.policy = job.policy
        self.rules = self.rules._replace(traced=True)  # clicks are learned from outside the kernel
        self.resume(job.policy.start(job.env.users, job.policy.dim_of(job.env.items)))

    @classmethod
    def refuses(cls, part: Component) -> bool:
        return super().refuses(part) or (part.kind == "exploration" and is_drawn(part))

    def session(self) -> AbstractContextManager[None]:
        return one_blas_thread()

    def make_trace(self, rounds: int) -> Trace:
        return memory.make_trace(self.job, rounds, wanted=True)

    def resume(self, state: BanditState) -> None:
        self.learned = state
        self.contenders = self._contenders()

    def _contenders(self) -> Contenders:
        """Return the items that can be in a slate now, and their scores."""
        env = self.job.env
        pool, k = env.items.pool, env.k
        scores = self.policy.scores(self.learned, slice(0, 1), pool, k, round=1, seed=self.job.seed)
        rough, error = scores.rough[0], scores.error[0]
        enough = np.partition(rough, -k)[-k] - 2.0 * error - 2.0 * RESOLUTION
        items = np.flatnonzero(rough >= enough)
        exact = np.asarray(scores.exact(np.zeros_like(items), items))
        if len(items) < k or not np.isfinite(exact).all():
            raise FloatingPointError("scores of items are not finite numbers")
        return Contenders(items.astype(np.int32)[None], exact[None], drawn=False)

    def serve(self, *where: Any) -> None:
        self.kernel(self.packed, self.numbers, self.draws, self.rules, self.contenders, *where)

    def keep(self, last: int, books: Sequence[StepCounts], trace: Trace) -> None:
        """Learn a round, as `loop` does: the last step of it, when all users have their slates."""
        came = np.flatnonzero(trace.clicks[0, :, 0] >= 0)
        if not len(came):
            return
        rows: Rows = slice(None) if self.job.everybody_comes else came
        slates, clicks = trace.slates[0, came], trace.clicks[0, came] > 0
        items, policy = self.job.env.items, self.policy
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                widths = policy.widths(self.learned, rows, items.pool, slates)
                books[0].by_round[BY_ROUND.index("width"), 0] += to_units(widths)
                policy.update(self.learned, rows, Feedback.of(items, slates, clicks))
                self.contenders = self._contenders()
        except FloatingPointError as error:
            raise not_finite(self.job, last) from error

    def state(self) -> BanditState:
        return self.learned
