"""A run on disk while it is under way, so that it can continue to exactly the same numbers."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from faircascade import storage
from faircascade.engine.job import Job
from faircascade.errors import ParameterError
from faircascade.metrics import Tally
from faircascade.registry import Component, from_spec, to_spec
from faircascade.registry.own_parts import own_code
from faircascade.registry.specs import nested
from faircascade.version import __version__

SECONDS = 30.0
"""A run is saved at most this often."""
PAUSE = 20.0
"""The next snapshot waits at least this many times as long as the last one took, so that a large
state on a slow disk does not hold the run up."""
VERSION = 2

_COUNTS = tuple(f.name for f in fields(Tally) if f.name not in ("checkpoints", "users", "realised"))
_TALLY, _STATE, _WAITING = "tally/", "state/", "waiting/"

log = logging.getLogger("faircascade")


@dataclass(frozen=True, kw_only=True, eq=False)
class Reached:
    """How far a run has come."""

    rounds: int
    """Rounds that all users finished."""
    tally: Tally
    state: Any | None
    """The policy's state of all users; None if it knows nothing yet."""
    waiting: Mapping[str, NDArray[Any]]
    """Feedback on its way to the policy, see `FeedbackQueue.arrays`; nothing if there is none."""
    seconds: float
    """What it took."""


class Snapshot:
    """The file that a job is kept in; nothing is kept of a job without one."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.earlier = 0.0
        """Seconds of the attempts that the run continues."""
        self._begin = time.perf_counter()
        self._next = self._begin + SECONDS

    def reached(self) -> Reached:
        """Return where to continue: where the file left this job, or at the beginning."""
        found = Reached(
            rounds=0,
            tally=_nothing_counted(self.job),
            state=self.job.start,
            waiting={},
            seconds=0.0,
        )
        path = self.job.snapshot
        if path is not None:
            try:
                found = _load(self.job, path)
            except FileNotFoundError:
                pass
            except Exception as error:  # there are as many as ways to damage an archive
                log.warning("Snapshot %s is left aside, the run starts over: %s", path, error)
        self.earlier = found.seconds
        return found

    def due(self, rounds: int) -> bool:
        """Say whether an unfinished run should be saved now."""
        if self.job.snapshot is None or rounds == self.job.rounds:
            return False
        return time.perf_counter() >= self._next

    def save(
        self,
        rounds: int,
        tally: Tally,
        state: Any,
        waiting: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    ) -> None:
        """Replace the file by the run as it is now; if that fails, leave the older one."""
        if self.job.snapshot is None:
            return
        begin = time.perf_counter()
        meta = {
            "job": identity(self.job),
            "rounds": rounds,
            "seconds": self.earlier + begin - self._begin,
        }
        arrays = _arrays(self.job, tally.up_to(rounds), state, waiting)
        try:
            storage.save_arrays(
                self.job.snapshot,
                kind="snapshot",
                version=VERSION,
                meta={**meta, "contents": storage.fingerprint(arrays, meta)},
                arrays=arrays,
            )
        except OSError as error:  # a full disk, say: no reason to lose the run as well
            log.warning("The run goes on without a new snapshot: %s", error)
        end = time.perf_counter()
        self._next = end + max(SECONDS, PAUSE * (end - begin))

    def end(self, tally: Tally, state: Any) -> None:
        """Remove the file, since the run is over, or write the whole run to it if it is kept."""
        path = self.job.snapshot
        if path is None:
            return
        if self.job.keep_snapshot and path.exists():
            self.save(self.job.rounds, tally, state)
        elif not self.job.keep_snapshot:
            with suppress(OSError):
                path.unlink()


def check(job: Job) -> None:
    """Refuse a job that cannot have a snapshot."""
    if job.snapshot is None:
        return
    if job.snapshot.is_dir():
        raise ParameterError("snapshot", "must name a file, not a folder", str(job.snapshot))
    if job.trace is not None:
        raise ValueError("snapshot and trace cannot be combined: a trace cannot be resumed")
    for component in (job.policy, *job.env.parts.values()):
        _check_spec(component)


def identity(job: Job) -> Any:
    """Return all that a job's numbers depend on, as plain data: equal for equal jobs alone."""
    settings = {
        "release": __version__,
        "environment": job.env.fingerprint,
        "policy": to_spec(job.policy),
        "own_code": [own_code(part) for part in _parts(job)],
        "seed": job.seed,
        "checkpoints": job.checkpoints,
        "precision": job.precision,
        "activity": float(job.activity),
        "realised": bool(job.realised),
    }
    if job.start is not None:
        settings["start"] = storage.fingerprint(job.policy.arrays(job.start), {})
    return json.loads(json.dumps(settings))


def _parts(job: Job) -> Iterator[Component]:
    for part in (*job.policy.made_of, *job.env.parts.values()):
        yield from nested(part)


def _check_spec(component: Component) -> None:
    """Refuse a component that is not the only one with its spec, or has none."""
    try:
        spec = json.loads(json.dumps(to_spec(component)))
        known = from_spec(component.kind, spec) == component
        reason = f"a spec takes its name, {component.name!r}, for another; register it"
    except (TypeError, ValueError) as error:
        known, reason = False, str(error)
    if not known:
        raise ValueError(
            f"snapshot must be of a {component.kind} that a spec can hold, got {component!r}: "
            f"{reason}"
        )


def _load(job: Job, path: Path) -> Reached:
    meta, arrays = storage.load_arrays(path, kind="snapshot", version=VERSION)
    contents = meta.pop("contents")
    if storage.fingerprint(arrays, meta) != contents:
        raise ValueError("contents do not match their fingerprint")
    if meta["job"] != identity(job):
        raise ValueError("it is of another run")
    tally = _nothing_counted(job)
    for name in _COUNTS:
        counted = arrays[_TALLY + name]
        getattr(tally, name)[: len(counted)] = counted
    return Reached(
        rounds=meta["rounds"],
        tally=tally,
        state=job.policy.restore(job.env.users, _under(_STATE, arrays)),
        waiting=_under(_WAITING, arrays),
        seconds=meta["seconds"],
    )


def _arrays(
    job: Job, tally: Tally, state: Any, waiting: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    counted = {_TALLY + name: getattr(tally, name) for name in _COUNTS}
    learned = {_STATE + n: a for n, a in job.policy.arrays(state).items()}
    return counted | learned | {_WAITING + n: a for n, a in waiting.items()}


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def _nothing_counted(job: Job) -> Tally:
    return Tally.empty(
        checkpoints=job.checkpoints,
        items=len(job.env.items),
        k=job.env.k,
        users=len(job.env.users),
        realised=job.realised,
    )
