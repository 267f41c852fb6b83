"""What a simulation means, in plain NumPy: Algorithm 1, one round after the other.

Users are independent, so they are cut into shards that fit into the cache; threads take shards.
Nothing that is reported depends on the cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event, Lock
from traceback import walk_tb
from typing import Any

import numpy as np

from faircascade.engine.feedback_queue import FeedbackQueue, Waiting
from faircascade.engine.interrupts import uninterrupted
from faircascade.engine.job import Job, Outcome
from faircascade.engine.output_checks import check_response, check_slates, check_waits
from faircascade.engine.propensities import Rater
from faircascade.engine.snapshot import Reached, Snapshot
from faircascade.engine.trace import TraceRows, TraceWriter
from faircascade.environment import Optimum
from faircascade.metrics.tally import Tally, to_units
from faircascade.numerics import one_blas_thread
from faircascade.random import uniforms
from faircascade.registry import declared
from faircascade.source_code import is_ours
from faircascade.types import Bools, Feedback, Ints, Rows

SHARD = 64
"""Users that are served together at most."""
STEP = 16_384
"""Slates that are shown between two looks at the keyboard: about half a second's work."""
_POLL_SECONDS = 0.2


@dataclass(frozen=True, eq=False)
class SharedTally:
    """The tally that all shards write to; integers add up the same in any order."""

    tally: Tally
    lock: Lock = field(default_factory=Lock)


class Shard:
    """Some of the users, served round by round."""

    def __init__(
        self, job: Job, rows: slice, books: SharedTally, stop: Event, reached: Reached
    ) -> None:
        self.job = job
        self.books = books
        self.stop = stop
        self.policy = job.policy
        self.env = job.env.take(rows)
        self.optimum: Optimum | None = None
        if job.env.stands_still:
            slates, values = job.env.optimum(1)
            self.optimum = Optimum(slates[rows], values[rows])
        self.queue = FeedbackQueue.restore(reached.waiting, rows)
        self.round = reached.rounds
        if reached.state is None:
            self.state = self.policy.start(self.env.users, self.policy.dim_of(self.env.items))
        else:
            self.state = self.policy.take(reached.state, rows)
        self.rows = np.arange(rows.start, rows.stop)
        self.chances = None if job.everybody_comes else job.chances[rows]
        self.rater = Rater(job)
        self.trace: list[TraceRows] = []

    def advance(self, interval: int, target: int) -> None:
        """Serve every user of the shard up to a round of an interval."""
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            while self.round < target and not self.stop.is_set():
                self.round += 1
                try:
                    self._serve(interval, self.round)
                except FloatingPointError as error:  # rather than a NaN that nobody sees
                    raise FloatingPointError(
                        f"{self.job.policy.label}: {error} in round {self.round}, {_cause(error)}"
                    ) from error

    def _serve(self, interval: int, t: int) -> None:
        """One round: recommend a slate, observe the clicks, learn what has arrived."""
        rows = self._visitors(t)
        if isinstance(rows, slice) or len(rows) > 0:
            self._show(interval, t, rows)
        for due in self.queue.take(t):
            self._learn(due.users, due.slates, due.clicks)

    def _show(self, interval: int, t: int, rows: Rows) -> None:
        env, job = self.env, self.job
        pool, optimum = env.pool_at(t), self.optimum or env.optimum(t)
        before = self.rater.before(self.state, rows)
        if declared(self.policy, "omniscient"):
            slates = optimum.slates[rows]
        else:
            ranked = self.policy.recommend(self.state, rows, pool, env.k, round=t, seed=job.seed)
            if not np.isfinite(ranked.scores).all():
                raise FloatingPointError("scores of items are not finite numbers")
            slates = ranked.items
        check_slates(slates, len(env.users.ids[rows]), env.k, pool, self.policy)
        rating = self.rater.rate(before, pool, slates, t)
        response = env.respond(slates, rows, round=t, seed=job.seed)
        check_response(response, slates, env)
        width = to_units(self.policy.widths(self.state, rows, pool, slates))
        self._send(t, rows, slates, response.clicks)

        regret = to_units(optimum.values[rows] - response.value)
        optimal_clicks = 0
        if job.realised:
            ideal = env.respond(optimum.slates[rows], rows, round=t, seed=job.seed)
            optimal_clicks = int(np.count_nonzero(ideal.clicks))
        with self.books.lock:
            tally = self.books.tally
            tally.count(interval, t, slates, response.clicks)
            tally.regret[t - 1] += regret
            tally.width[t - 1] += width
            tally.optimal_clicks[t - 1] += optimal_clicks
        if job.trace is not None:
            self.trace.append(TraceRows.of(t, self.rows[rows], slates, response.clicks, rating))

    def _send(self, t: int, rows: Rows, slates: Ints, clicks: Bools) -> None:
        """Let the policy learn, now or, where feedback is delayed, later."""
        waits = self.env.delay.rounds(self.env.users.keys[rows], t, self.job.seed)
        check_waits(waits, len(slates), self.env)
        if not waits.any() and not self.queue:
            self._learn(rows, slates, clicks)
        else:
            users = np.arange(len(self.env.users))[rows]
            self.queue.put(Waiting(t, users, slates, clicks), waits)

    def _learn(self, rows: Rows, slates: Ints, clicks: Bools) -> None:
        feedback = Feedback.of(self.env.items, slates, clicks)
        self.policy.update(self.state, rows, feedback)

    def _visitors(self, t: int) -> Rows:
        """Return the users who come in round t: all, or those who are drawn."""
        if self.chances is None:
            return slice(None)
        luck = uniforms(self.job.seed, "visit", self.env.users.keys, [t])
        visitors: Ints = np.flatnonzero(luck < self.chances)
        return visitors


def run(job: Job) -> Outcome:
    """Run a job to its end, or to the round in which it is interrupted.

    Users go forward together in short steps, so that an interrupted run is a run of fewer rounds.
    """
    stop, snapshot = Event(), Snapshot(job)
    shards = _start(job, snapshot, stop)
    shares = job.policy.shares
    step = 1 if shares else max(1, STEP // len(job.env.users))
    interrupted = False
    with (
        one_blas_thread(),
        ThreadPoolExecutor(job.threads) as pool,
        TraceWriter(job) as trace,
    ):
        try:
            for interval, target in _steps(job.checkpoints, step, shards[0].round):
                futures = [pool.submit(shard.advance, interval, target) for shard in shards]
                interrupted = _finish(futures, shards, job)
                if shares:
                    shards[0].policy.settle([shard.state for shard in shards])
                if interrupted or target == job.checkpoints[interval]:
                    trace.write([shard.trace for shard in shards])
                    for shard in shards:
                        shard.trace = []
                if interrupted or snapshot.due(target):
                    interrupted |= _save(pool, snapshot, shards)
                if interrupted:
                    break
        finally:
            stop.set()
    tally, state = shards[0].books.tally, _join(shards)
    if not interrupted:
        snapshot.end(tally, state)
    return Outcome(
        tally=tally.up_to(shards[0].round),
        state=state,
        interrupted=interrupted,
        earlier=snapshot.earlier,
    )


def _start(job: Job, snapshot: Snapshot, stop: Event) -> list[Shard]:
    """Return all users, at the beginning or where an earlier attempt left them."""
    reached = snapshot.reached()
    books = SharedTally(reached.tally)
    n = len(job.env.users)
    users = [slice(0, n)] if job.policy.indivisible else cut(n, job.threads)
    return [Shard(job, rows, books, stop, reached) for rows in users]


def _save(pool: ThreadPoolExecutor, snapshot: Snapshot, shards: list[Shard]) -> bool:
    """Save the run; return True if Ctrl-C came meanwhile."""

    def save() -> None:
        waiting = [shard.queue.arrays(int(shard.rows[0])) for shard in shards]
        some = [arrays for arrays in waiting if arrays]
        joined = {n: np.concatenate([arrays[n] for arrays in some]) for n in (some or [{}])[0]}
        snapshot.save(shards[0].round, shards[0].books.tally, _join(shards), joined)

    try:
        uninterrupted(pool, save)
    except KeyboardInterrupt:
        return True
    return False


def _cause(error: FloatingPointError) -> str:
    """Return where to look: at the numbers that a run was given, or at somebody's own part."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    module = frame.f_globals.get("__name__", "")
    if is_ours(module):
        return "check the scale of the features, sigma and the reward weights"
    return f"in {frame.f_code.co_qualname} of {module}, line {line}"


def _join(shards: list[Shard]) -> Any:
    """Return the state of all users."""
    return shards[0].policy.join([shard.state for shard in shards])


def _steps(checkpoints: tuple[int, ...], step: int, done: int) -> Iterator[tuple[int, int]]:
    """Yield (interval, last round) of short steps after `done` that end at every checkpoint."""
    for interval, checkpoint in enumerate(checkpoints):
        while done < checkpoint:
            done = min(done + step, checkpoint)
            yield interval, done


def cut(users: int, threads: int) -> list[slice]:
    """Cut users into shards of nearly equal size, a multiple of the threads if there are enough."""
    shards = -(-users // SHARD)
    shards = min(users, -(-shards // threads) * threads)
    edges = [users * part // shards for part in range(shards + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def _finish(futures: list[Future[None]], shards: list[Shard], job: Job) -> bool:
    """Wait for a step to end; return True if Ctrl-C came: all users end alike even so."""
    try:
        _await(futures, shards, job)
    except KeyboardInterrupt:
        for future in futures:
            future.result()
        return True
    return False


def _await(futures: list[Future[None]], shards: list[Shard], job: Job) -> None:
    """Wait for all, reporting progress; the first error ends the wait."""
    total = len(shards) * job.rounds
    while True:
        done, waiting = wait(futures, timeout=_POLL_SECONDS, return_when=FIRST_EXCEPTION)
        if job.progress is not None:
            job.progress(sum(shard.round for shard in shards) / total)
        for future in done:
            future.result()
        if not waiting:
            return
