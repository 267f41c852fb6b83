"""Finished runs of a study: kept in a table as they finish, so that none is run twice."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import Event, Lock
from typing import Any, TypeVar

from faircascade.cores import cores
from faircascade.data.base import DataError
from faircascade.engine.job import Progress
from faircascade.engine.result import Result
from faircascade.engine.simulation import simulate
from faircascade.environment import Environment
from faircascade.errors import ParameterError, shown
from faircascade.policies import Policy
from faircascade.storage import check_folder, replacing

RESULTS = "results.csv"
_KINDS: Mapping[str, tuple[type, str]] = {
    "str": (str, "must be text"),
    "int": (int, "must be a whole number"),
    "float": (float, "must be a number"),
}
"""Types of columns by their annotation."""


@dataclass(frozen=True)
class FinishedRun(ABC):
    """A row of the table: text and numbers."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What was run."""


Finished = TypeVar("Finished", bound=FinishedRun)


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a study; says what is kept."""

    def __init__(self, kept: int, wanted: int, file: Path) -> None:
        super().__init__(f"{kept:,} of {wanted:,} runs are kept in {file}")


def check_size(rounds: int, runs: int) -> None:
    """Refuse a study that is too small."""
    if rounds < 1:
        raise ParameterError("rounds", "must be at least 1", rounds)
    if runs < 2:
        raise ParameterError("seeds", "must be at least 2 for a standard error", runs)


def complete(
    folder: str | Path,
    kind: type[Finished],
    wanted: Mapping[Any, Callable[[Event], Finished]],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Finished]:
    """Return the runs that are wanted, by key: those of the table in a folder, and the missing.

    A missing run is called with an event that is set when it should end: see `simulate_alone`.
    Ctrl-C raises `Stopped` within about a second.
    """
    if threads is not None and threads < 1:
        raise ParameterError("threads", "must be at least 1", threads)
    file = check_folder(folder) / RESULTS
    kept = {run.key: run for run in read_runs(file, kind)}
    order = dict.fromkeys((*kept, *wanted))
    missing = [key for key in wanted if key not in kept]
    lock = Lock()

    def run(key: Hashable, stop: Event) -> None:
        found = wanted[key](stop)
        with lock:  # Ctrl-C does not reach this thread: the table is never half written
            kept[key] = found
            write_runs(file, kind, [kept[each] for each in order if each in kept])

    try:
        with _pool(threads or cores()) as (pool, stop):
            futures = [pool.submit(run, key, stop) for key in missing]
            before = len(wanted) - len(missing)
            for done, future in enumerate(as_completed(futures), start=before + 1):
                future.result()
                if progress is not None:
                    progress(done / len(wanted))
    except KeyboardInterrupt:
        raise Stopped(sum(key in kept for key in wanted), len(wanted), file) from None
    return [kept[key] for key in wanted]


@contextmanager
def _pool(threads: int) -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    """Yield threads, and an event that tells what runs in them to end with the block."""
    pool, stop = ThreadPoolExecutor(threads), Event()  # kernels do not hold Python's lock
    try:
        yield pool, stop
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def simulate_alone(
    env: Environment, policy: Policy, *, rounds: int, seed: int, stop: Event
) -> Result:
    """Simulate all rounds on one thread; raise KeyboardInterrupt soon after the event is set."""

    def check(_: float) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    result = simulate(
        env,
        policy,
        rounds=rounds,
        seed=seed,
        threads=1,
        checkpoints=1,
        engine="cpu",
        progress=check,
    )
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def read_runs(file: Path, kind: type[Finished]) -> list[Finished]:
    """Read runs from a table; there are none if there is no such file.

    The end of a last line that was cut off is left out. Any other file is refused.
    """
    if not file.exists():
        return []
    columns = {each.name: _KINDS[str(each.type)] for each in fields(kind)}
    try:
        text = file.read_text(encoding="utf-8")
        lines = csv.reader(text[: text.rfind("\n") + 1].split("\n"))
        rows = [(lines.line_num, line) for line in lines if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file}: must be a table of finished runs, got {error}") from None
    if not text:
        return []
    if not rows or rows[0][1] != list(columns):
        first = text.partition("\n")[0]
        raise DataError(
            f"{file}: row 1 must name the columns {','.join(columns)}, got {shown(first)}; use "
            "another folder"
        )
    return [kind(**_values(f"{file}: row {row}", columns, line)) for row, line in rows[1:]]


def _values(where: str, columns: Mapping[str, tuple[type, str]], line: list[str]) -> dict[str, Any]:
    if len(line) != len(columns):
        raise DataError(f"{where} must have {len(columns)} values, got {len(line)}")
    values = {}
    for (name, (kind, rule)), text in zip(columns.items(), line, strict=True):
        try:
            values[name] = kind(text)
        except ValueError:
            raise DataError(f"{where}: {ParameterError(name, rule, text)}") from None
    return values


def write_runs(file: Path, kind: type[Finished], runs: Iterable[Finished]) -> None:
    """Write runs as a table, all of it or nothing."""
    with replacing(file) as draft, draft.open("w", encoding="utf-8", newline="") as lines:
        table = csv.DictWriter(lines, [each.name for each in fields(kind)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(run) for run in runs)
