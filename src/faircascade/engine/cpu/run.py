"""The compiled engine: the same bits as `loop`, lazy, and parallel over users.

docs/explanation/engine.md says how it works and why its slates are those of `loop`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from threading import Lock

import numba
import numpy as np

from faircascade.engine.capabilities import name_of, unsupported
from faircascade.engine.cpu import memory
from faircascade.engine.cpu.accounted import AccountedUsers
from faircascade.engine.cpu.blocks import BlockUsers
from faircascade.engine.cpu.kernels.compiling import announce
from faircascade.engine.cpu.records import USERS, StepCounts, Trace
from faircascade.engine.cpu.shared import SharedUsers
from faircascade.engine.cpu.tabular import TabularUsers
from faircascade.engine.cpu.topical import TopicalUsers
from faircascade.engine.cpu.users import Learning, Served, Standing
from faircascade.engine.interrupts import uninterrupted
from faircascade.engine.job import Job, Outcome, not_finite
from faircascade.engine.propensities import asked_of
from faircascade.engine.snapshot import Snapshot
from faircascade.engine.trace import TraceRows, TraceWriter

STEP_SECONDS = 0.2
"""Seconds that all users advance before a step is counted."""
FIRST_STEP = 1024
"""Slates of the first step; the next ones grow until they take long enough."""
PARTS = 8
"""Groups per thread in a step, so that no thread is idle for long at its end."""
TRACED = 2_000_000
"""Most slates in a step that is traced."""
_POLL_SECONDS = 0.1
_KINDS: dict[str, type[Served]] = {
    "tabular": TabularUsers,
    "compares": BlockUsers,
    "shared": SharedUsers,
    "shifts": AccountedUsers,
}
"""Users who are served in a way of their own, by what a part has in its `kernel`."""


def lacks(job: Job) -> str:
    """Return what this engine does not support of a job, or nothing."""
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT"
    return unsupported(job.env, job.policy, "cpu") or _unknown(job) or asked_of(job)


def run(job: Job) -> Outcome:
    """Run a job to its end, or to the last round that all users finished when interrupted."""
    users = _kind(job) or _scored(job)
    return CpuRun(job, users(job)).to_the_end()


def _kind(job: Job) -> type[Served] | None:
    """Return the users of a job if they are served in a way of their own."""
    given = {name for part in job.policy.components for name in part.kernel()}
    return next((users for name, users in _KINDS.items() if name in given), None)


def _scored(job: Job) -> type[Served]:
    """Return the users of a job whose items are scored by what is known of them, or not at all."""
    if not job.policy.learns:
        return Standing
    return TopicalUsers if job.policy.conditional else Learning


def _unknown(job: Job) -> str:
    """Return a part that has a kernel, but not together with the others."""
    users = _kind(job)
    if users is not None:
        for part in job.policy.components:
            if users.refuses(part):
                return f"{name_of(part)} with {users.estimates_by}"
    return ""


class CpuRun:
    """A job under way: all users go forward in short steps."""

    def __init__(self, job: Job, users: Served) -> None:
        self.job = job
        self.users = users
        self.n = len(job.env.users)
        self.stop = np.zeros(1, dtype=np.int64)
        self.scratch = [users.make_scratch() for _ in range(job.threads)]
        self.work = np.zeros(users.sets + 2, dtype=np.int64)
        groups = -(-self.n // USERS)
        parts = min(groups, PARTS * job.threads)
        self.step = 1 if users.round_by_round else max(1, FIRST_STEP // self.n)
        self.rows: list[TraceRows] = []
        self.parts = list(pairwise(groups * part // parts for part in range(parts + 1)))
        self.compiling = self._compile()
        self.snapshot = Snapshot(job)
        reached = self.snapshot.reached()
        self.done, self.tally = reached.rounds, reached.tally
        if reached.state is not None:
            users.resume(reached.state)

    def to_the_end(self) -> Outcome:
        """Run to the last checkpoint, or until Ctrl-C."""
        interrupted = False
        with (
            self.users.session(),
            ThreadPoolExecutor(self.job.threads) as pool,
            TraceWriter(self.job) as trace,
        ):
            try:
                for interval, checkpoint in enumerate(self.job.checkpoints):
                    while self.done < checkpoint:
                        begin = time.perf_counter()
                        first, last = self.done + 1, min(self.done + self.step, checkpoint)
                        self._advance(pool, interval, first, last)
                        self.step = self._next_step(last - first + 1, time.perf_counter() - begin)
                        if self.snapshot.due(self.done):
                            uninterrupted(pool, self._save)
                        self._tell(0.0)
                    uninterrupted(pool, self._write, trace)
            except KeyboardInterrupt:
                if self.done == 0:
                    raise
                interrupted = True
                uninterrupted(pool, self._write, trace)
                uninterrupted(pool, self._save)
        state = self.users.state()
        if not interrupted:
            self.snapshot.end(self.tally, state)
        return Outcome(
            tally=self.tally.up_to(self.done),
            state=state,
            interrupted=interrupted,
            earlier=self.snapshot.earlier,
            compiling=self.compiling,
        )

    def _compile(self) -> float:
        """Compile or load the kernel by a call that serves nobody; return the seconds it took."""
        begin = time.perf_counter()
        announce(self.users.kernel)
        books = memory.make_counts(self.job, 1, self.users.sets)
        trace = self.users.make_trace(1)
        self.users.serve(books, trace, self.scratch[0], self.stop, (0, 0), 1, 1)
        return time.perf_counter() - begin

    def _next_step(self, rounds: int, seconds: float) -> int:
        if self.users.round_by_round:
            return 1
        longer = int(rounds * min(4.0, STEP_SECONDS / max(seconds, 1e-6)))
        most = TRACED // self.n if self.job.trace is not None else longer
        return max(1, min(longer, most))

    def _advance(self, pool: ThreadPoolExecutor, interval: int, first: int, last: int) -> None:
        """Serve all users in some rounds and count what happened, all of it or nothing."""
        rounds = last - first + 1
        books = [memory.make_counts(self.job, rounds, self.users.sets) for _ in self.scratch]
        trace = self.users.make_trace(rounds)
        parts = GroupQueue(self.parts)

        def work(thread: int) -> None:
            for part in parts:
                self.users.serve(
                    books[thread], trace, self.scratch[thread], self.stop, part, first, last
                )

        futures = [pool.submit(work, thread) for thread in range(len(self.scratch))]
        try:
            while wait(futures, timeout=_POLL_SECONDS).not_done:
                self._tell(rounds * parts.taken / len(self.parts))
            for future in futures:
                future.result()
        except BaseException:
            self.stop[0] = 1
            parts.close()
            wait(futures)
            raise
        uninterrupted(pool, self._enter, books, trace, interval, first, last)

    def _enter(
        self, books: list[StepCounts], trace: Trace, interval: int, first: int, last: int
    ) -> None:
        """Count a step and commit it."""
        if any(book.broken[0] for book in books):
            raise not_finite(self.job, last)
        self.users.keep(last, books, trace)
        tally, rounds = self.tally, slice(first - 1, last)
        for book in books:
            tally.appearances[interval] += book.appearances
            tally.item_clicks[interval] += book.item_clicks
            tally.count_rounds(rounds, book.by_round)
            self.work += book.work
        if self.job.trace is not None:
            self.rows.extend(self._trace_rows(trace, first))
        self.done = last

    def _save(self) -> None:
        self.snapshot.save(self.done, self.tally, self.users.state())

    def _write(self, trace: TraceWriter) -> None:
        rows, self.rows = self.rows, []
        trace.write([rows])

    def _trace_rows(self, trace: Trace, first: int) -> Iterator[TraceRows]:
        for place in range(len(trace.slates)):
            came = np.flatnonzero(trace.clicks[place, :, 0] >= 0)
            slates, clicks = trace.slates[place, came], trace.clicks[place, came] > 0
            yield TraceRows.of(first + place, came, slates, clicks)

    def _tell(self, more: float) -> None:
        if self.job.progress is not None:
            self.job.progress(min(1.0, (self.done + more) / self.job.rounds))


class GroupQueue:
    """Groups of users, each handed out once."""

    def __init__(self, parts: list[tuple[int, int]]) -> None:
        self._left = iter(parts)
        self._lock = Lock()
        self.taken = 0

    def __iter__(self) -> GroupQueue:
        return self

    def __next__(self) -> tuple[int, int]:
        with self._lock:
            part = next(self._left)
            self.taken += 1
            return part

    def close(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._left = iter(())
