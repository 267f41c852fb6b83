"""Jobs on a GPU, several at once: all users advance in short launches."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from faircascade.engine.capabilities import unsupported
from faircascade.engine.cpu.memory import up
from faircascade.engine.gpu.device import Device, NoGPU, is_present, no_memory, the_gpu
from faircascade.engine.gpu.device_job import DeviceJob, Shelf, to_host
from faircascade.engine.gpu.share import Share
from faircascade.engine.gpu.source import WARPS, Shape
from faircascade.engine.interrupts import uninterrupted
from faircascade.engine.job import Job, Outcome, not_finite
from faircascade.engine.propensities import asked_of
from faircascade.engine.snapshot import Snapshot
from faircascade.engine.trace import TraceWriter

__all__ = ["alike", "is_present", "lacks", "run", "run_together", "the_gpu"]

STEP_SECONDS = 0.25
"""Seconds that a launch takes, roughly; progress and Ctrl-C have to wait for its end."""
LONGEST_STEP, FASTER = 2.0, 1.25
"""Seconds that it may take where twice as many rounds are each so many times faster."""
FIRST_STEP = 3e8
"""Items that can be scored in the first launch; the next ones grow until they take long enough."""
FOR_STATE, FOR_BOOKS = 0.6, 0.2
"""Shares of the free memory that users, and what is counted in a launch, may take."""
MOST_BOOKS = 4 * 2**30
"""Bytes that they take at most."""


def lacks(job: Job) -> str:
    """Return what this engine does not support of a job, or nothing."""
    return unsupported(job.env, job.policy, "gpu") or asked_of(job)


def alike(job: Job) -> tuple[int, int, str, tuple[int, ...]]:
    """Return what jobs must have in common to share a launch."""
    return job.env.items.dim, job.env.k, job.precision, job.checkpoints


def shape_of(jobs: Sequence[Job]) -> Shape:
    """Return what the kernel of jobs is compiled for."""
    d, k, precision, _ = alike(jobs[0])
    largest = max(len(job.env.items.pool) for job in jobs)
    return Shape.of(d=d, k=k, items=largest, precision=precision)


def run(job: Job) -> Outcome:
    """Run a job to its end, or to the last round that all users finished when interrupted."""
    return run_together([job])[0]


def run_together(jobs: Sequence[Job], device: Device | None = None) -> list[Outcome]:
    """Run jobs that are alike side by side; Ctrl-C ends all of them in the same round."""
    device = device or the_gpu()
    device.use()
    try:
        return GpuRun(jobs, device).to_the_end()
    except Exception as error:
        if no_memory(error):
            why = str(error).rstrip(".")
            raise NoGPU(
                f"engine 'gpu' has no memory left on this {device.name}: {why}; end what else uses "
                "it, or run fewer users at a time"
            ) from error
        raise
    finally:
        device.release()


class GpuRun:
    """Jobs under way."""

    def __init__(self, jobs: Sequence[Job], device: Device) -> None:
        first = jobs[0]
        if any(alike(job) != alike(first) for job in jobs):
            raise ValueError(
                "jobs that run together must have the same features, K and checkpoints"
            )
        self.jobs = list(jobs)
        self.device = device
        self.shape = shape_of(jobs)
        self.kernel = device.kernel(self.shape, sum(len(job.env.users) for job in jobs))
        self.checkpoints = np.array(first.checkpoints)
        self.snapshots = [Snapshot(job) for job in jobs]
        reached = [snapshot.reached() for snapshot in self.snapshots]
        self.done = reached[0].rounds
        if any(one.rounds != self.done for one in reached):
            raise ValueError("jobs that run together must have come equally far")
        self.tallies = [one.tally for one in reached]
        self.shelf: Shelf = {}
        self.parts = self._cut([one.state for one in reached])
        work = max(sum(share.items for share in part) for part in self.parts)
        self.step = max(1, int(FIRST_STEP / work))
        self.last = (0, math.inf)
        """Rounds of the last launch, and the seconds for each."""

    def _cut(self, states: Sequence[Any]) -> list[list[Share]]:
        """Put the users of all jobs into parts, each small enough for the device's memory."""
        catalogues = {id(job.env.items): job for job in self.jobs}.values()
        shared = sum(DeviceJob.bytes_of_items(job, self.shape) for job in catalogues)
        room = FOR_STATE * max(0, self.device.free_bytes() - shared)
        parts: list[list[Share]] = [[]]
        used = 0.0
        for number, (job, state) in enumerate(zip(self.jobs, states, strict=True)):
            each, fixed = DeviceJob.bytes_a_user(job, self.shape), DeviceJob.bytes_of_interval(job)
            n, begin = len(job.env.users), 0
            while begin < n:
                fit = int((room - used - fixed) // each)
                if fit < min(n - begin, 1024) and parts[-1]:
                    parts.append([])
                    used = 0.0
                    continue
                end = min(n, begin + max(1, fit))
                parts[-1].append(self._share(number, slice(begin, end), state))
                used += fixed + each * (end - begin)
                begin = end
        if len(parts) == 1:
            for share in parts[0]:
                share.fetch()
        return parts

    def _share(self, number: int, users: slice, state: Any) -> Share:
        """Return some users of a job, who continue from a state of all its users."""
        job = self.jobs[number]
        if users != slice(0, len(job.env.users)):
            job = replace(job, env=job.env.take(users))
        if state is not None:
            state = job.policy.take(state, users)
        return Share(number, users, job, state, self.shape, self.device.xp, self.shelf)

    @staticmethod
    def _users(part: Sequence[Share]) -> int:
        return sum(share.users.stop - share.users.start for share in part)

    def to_the_end(self) -> list[Outcome]:
        """Run to the last checkpoint, or until Ctrl-C."""
        interrupted = False
        with ThreadPoolExecutor(1, initializer=self.device.use) as pool, ExitStack() as stack:
            traces = [stack.enter_context(TraceWriter(job)) for job in self.jobs]
            try:
                while self.done < self.checkpoints[-1]:
                    uninterrupted(pool, self._advance)
                    if self.done in self.checkpoints:
                        uninterrupted(pool, self._write, traces)
                    if any(snapshot.due(self.done) for snapshot in self.snapshots):
                        uninterrupted(pool, self._save)
                    self._tell()
            except KeyboardInterrupt:
                if self.done == 0:
                    raise
                interrupted = True
                uninterrupted(pool, self._write, traces)
                uninterrupted(pool, self._save)
        return [self._outcome(number, interrupted) for number in range(len(self.jobs))]

    def _outcome(self, number: int, interrupted: bool) -> Outcome:
        tally, state, snapshot = self.tallies[number], self._state(number), self.snapshots[number]
        if not interrupted:
            snapshot.end(tally, state)
        return Outcome(
            tally=tally.up_to(self.done),
            state=state,
            interrupted=interrupted,
            earlier=snapshot.earlier,
        )

    def _state(self, number: int) -> Any:
        """Return the policy's state of all users of a job."""
        states = [share.state() for share in self._shares(number)]
        return states[0] if len(states) == 1 else self.jobs[number].policy.join(states)

    def _shares(self, number: int) -> list[Share]:
        return [share for part in self.parts for share in part if share.number == number]

    def _advance(self) -> None:
        """Serve all users in some rounds and count what happened."""
        begin = time.perf_counter()
        first = self.done + 1
        last = min(self.done + self._room_for_rounds(), int(self.checkpoints[-1]))
        for part in self.parts:
            self._launch(part, first, last)
        self.done = last
        seconds, rounds = max(time.perf_counter() - begin, 1e-6), last - first + 1
        self.step = self._next_step(rounds, seconds / len(self.parts))

    def _next_step(self, rounds: int, seconds: float) -> int:
        """Return how many rounds to have in the next launch, after one of so many and so long.

        A launch begins with a look at every item. Where that takes most of its time, it is to have
        more rounds than time would allow, as long as that makes them faster.
        """
        pace = seconds / rounds
        (before, slower), self.last = self.last, (rounds, pace)
        if STEP_SECONDS < seconds < LONGEST_STEP:
            longer_pays = rounds > before and FASTER * pace < slower
            shorter_does_not = rounds < before and pace > FASTER * slower
            if longer_pays or shorter_does_not:
                return 2 * rounds
        return max(1, math.ceil(rounds * min(8.0, STEP_SECONDS / seconds)))

    def _room_for_rounds(self) -> int:
        """Return how many rounds the next launch may have."""
        job = self.jobs[0]
        room = min(FOR_BOOKS * self.device.free_bytes(), MOST_BOOKS)
        users = max(self._users(part) for part in self.parts)
        traced = any(job.trace is not None for job in self.jobs)
        by_interval = max(
            sum(DeviceJob.bytes_of_interval(share.job) for share in part) for part in self.parts
        )
        intervals = 1 if traced else max(1, int(0.5 * room // by_interval))
        place = int(np.searchsorted(self.checkpoints, self.done, side="right"))
        end = int(self.checkpoints[min(place + intervals, len(self.checkpoints)) - 1])
        by_round = users * (20 + (8 * job.env.k if traced else 0))
        return max(1, min(self.step, end - self.done, int(0.5 * room // by_round)))

    def _launch(self, part: Sequence[Share], first: int, last: int) -> None:
        xp, shape = self.device.xp, self.shape
        rounds = np.arange(first, last + 1)
        intervals = np.searchsorted(self.checkpoints, rounds)
        here = int(intervals[0])
        cells = [share.fetch() for share in part]
        for cell in cells:
            cell.open_counts(len(rounds), int(intervals[-1]) - here + 1)
        users = np.cumsum([0, *(cell.values["users"] for cell in cells)])
        scores = shape.room_for_work + max(cell.values["padded"] for cell in cells)
        real = np.dtype(shape.precision)
        each = scores * real.itemsize + 4 * shape.room_for_sets
        most = max(1, int(FOR_BOOKS * self.device.free_bytes() // each))
        warps = up(int(min(users[-1], self.kernel.warps, most)), WARPS)
        records = xp.asarray(np.concatenate([cell.record() for cell in cells]))
        arguments = (
            records,
            xp.asarray(users),
            np.int32(len(cells)),
            xp.zeros(1, dtype=np.int32),
            xp.empty(warps * scores, dtype=real),
            np.int64(scores),
            xp.empty(warps * shape.room_for_sets, dtype=np.int32),
            np.int32(first),
            np.int32(last),
            xp.asarray(intervals - here, dtype=np.int32),
        )
        self.kernel.serve(warps, arguments)
        self.kernel.add_up(records, len(cells), len(rounds))
        for share, cell in zip(part, cells, strict=True):
            if not cell.is_sound():
                raise not_finite(self.jobs[share.number], last)
            self._count(share, cell, slice(first - 1, last), here)
            cell.close_counts()
        if len(self.parts) > 1:
            for share in part:
                share.park()

    def _count(self, share: Share, cell: DeviceJob, rounds: slice, interval: int) -> None:
        """Add what happened in a launch to the tally of its job."""
        tally, values = self.tallies[share.number], cell.values
        seen, clicks = to_host(values["appearances"]), to_host(values["item_clicks"])
        tally.appearances[interval : interval + len(seen)] += seen.astype(tally.appearances.dtype)
        tally.item_clicks[interval : interval + len(seen)] += clicks.astype(tally.appearances.dtype)
        tally.count_rounds(rounds, to_host(values["by_round"]))
        if cell.rules.traced:
            slates, hits = to_host(values["slates"]), to_host(values["clicks"])
            share.trace(slates, hits, to_host(values["outcomes"]), rounds.start + 1)

    def _write(self, traces: Sequence[TraceWriter]) -> None:
        for number, trace in enumerate(traces):
            shares = self._shares(number)
            trace.write([share.rows for share in shares])
            for share in shares:
                share.rows = []

    def _save(self) -> None:
        for number, snapshot in enumerate(self.snapshots):
            if self.jobs[number].snapshot is not None:
                snapshot.save(self.done, self.tallies[number], self._state(number))

    def _tell(self) -> None:
        for job in self.jobs:
            if job.progress is not None:
                job.progress(min(1.0, self.done / int(self.checkpoints[-1])))
