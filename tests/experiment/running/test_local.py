"""Cells on this machine: the same numbers however they are spread, and whoever dies."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from faircascade import registry
from faircascade.component_files import references
from faircascade.data.load import load_dataset
from faircascade.engine import simulate, snapshot
from faircascade.experiment.cell import Cell, own_parts_of
from faircascade.experiment.running import run_cell, worker_pool
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.executors import Local
from faircascade.experiment.running.executors import local as executor
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.locks import Claim, claimed
from faircascade.experiment.store.results import Results
from faircascade.storage import load_arrays
from tests.experiment.specs import TINY

RATINGS = load_dataset("synthetic", users=20, items=60)
SOURCES = Sources({RATINGS.fingerprint: RATINGS})
CELLS = Spec.parse(TINY).cells(RATINGS.fingerprint)

RUNNER = """
import sys
from pathlib import Path
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.executors import Local
from faircascade.experiment.running.planning import plan_studies
from faircascade.experiment.store.results import Results
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec

results = Results(Path(sys.argv[2]))
studies, sources = plan_studies([Spec.load(sys.argv[1])], results)
ended = run_cells(studies[0].cells, sources, results, executor=Local(workers=int(sys.argv[3])))
print(ended)
sys.exit(not ended.complete)
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    results = Results(tmp_path_factory.mktemp("undisturbed"))
    assert run_cells(CELLS, SOURCES, results, executor=Local(workers=1)).complete
    return results


def content(results: Results) -> dict[str, tuple[object, ...]]:
    """Return everything that a run computed, by the key of the cell."""
    found = {}
    for folder in (results.folder / "cells").iterdir():
        about = json.loads((folder / "cell.json").read_text())
        tables = [pq.read_table(folder / f"{name}.parquet") for name in ("curves", "items")]
        numbers = [table[name].to_pylist() for table in tables for name in table.column_names]
        found[folder.name] = (
            about["settings"],
            about["metrics"],
            about["fingerprint"],
            str(numbers),
        )
    return found


def assert_same(results: Results, undisturbed: Results) -> None:
    assert content(results) == content(undisturbed)
    assert [path for path in results.folder.rglob("*") if path.name.endswith(".part")] == []
    assert list((results.folder / "underway").iterdir()) == []


def finished(results: Results) -> int:
    """Return how many cells are finished."""
    return sum(results.find(cell) is not None for cell in CELLS)


def start(spec: Path, folder: Path, workers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(spec), str(folder), str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_of(folder: Path) -> Iterator[int]:
    """Yield the processes that work on a folder."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"faircascade.experiment.running.worker_main" in words and str(folder).encode() in words:
            yield int(place.parent.name)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def cells(count: int, rounds: int) -> list[Cell]:
    text = TINY.replace("rounds = 30", f"rounds = {rounds}").replace(
        "dim = 4", "dim = 4\nusers = 20"
    )
    return (Spec.parse(text).cells("x") * count)[:count]


@pytest.mark.parametrize(
    ("count", "rounds", "spread"),
    [
        (24, 30, (1, 4)),  # many, but done in no time
        (24, 40_000_000, (4, 1)),  # many and long
        (3, 40_000_000, (1, 4)),  # few and long
    ],
)
def test_many_cells_run_side_by_side_and_few_have_all_threads(
    count: int, rounds: int, spread: tuple[int, int]
) -> None:
    assert Local(threads=4).spread(cells(count, rounds), CostModel()) == spread


@pytest.mark.parametrize("workers", [1, 2, 3, 64])
def test_threads_are_never_more_than_asked_for(workers: int) -> None:
    at_once, each = Local(workers=workers, threads=4).spread(cells(24, 30), CostModel())
    assert at_once == workers
    assert each == max(1, 4 // workers)


def test_processes_give_the_very_same_numbers(undisturbed: Results, tmp_path: Path) -> None:
    results = Results(tmp_path)
    ended = run_cells(CELLS, SOURCES, results, executor=Local(workers=3))
    assert ended.complete
    assert not ended.failures
    assert_same(results, undisturbed)


def test_a_cell_whose_process_dies_is_begun_again(
    undisturbed: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = []

    class Fragile(worker_pool.Worker):
        def give(self, cell: Cell, threads: int) -> None:
            super().give(cell, threads)
            if len(killed) < 2:
                killed.append(cell.key)
                self._process.kill()

    monkeypatch.setattr(executor, "Worker", Fragile)
    results = Results(tmp_path)
    ended = run_cells(CELLS, SOURCES, results, executor=Local(workers=2))
    assert ended.complete
    assert not ended.failures
    assert len(killed) == 2
    assert_same(results, undisturbed)


def test_a_cell_that_kills_every_process_is_told_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deadly(worker_pool.Worker):
        def give(self, cell: Cell, threads: int) -> None:
            super().give(cell, threads)
            if cell.key == CELLS[1].key:
                self._process.kill()

    monkeypatch.setattr(executor, "Worker", Deadly)
    ended = run_cells(CELLS[:3], SOURCES, Results(tmp_path), executor=Local(workers=2))
    assert ended.complete
    assert list(ended.failures) == [CELLS[1].name]
    assert "its process ended with signal 9" in ended.failures[CELLS[1].name]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_killed_again_and_again_ends_as_if_undisturbed(
    workers: int, undisturbed: Results, spec: Path, tmp_path: Path
) -> None:
    moments = Random(workers)
    results = Results(tmp_path / "run")
    for _ in range(4):
        process = start(spec, results.folder, workers)
        goal = finished(results) + moments.randrange(3)
        while finished(results) < goal and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        deadline = time.monotonic() + 120
        while list(processes_of(results.folder)):  # they notice that they are alone
            assert time.monotonic() < deadline
            time.sleep(0.01)
    process = start(spec, results.folder, workers)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert_same(results, undisturbed)


def test_two_runners_share_the_work(undisturbed: Results, spec: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "run")
    both = [start(spec, results.folder, 1) for _ in range(2)]
    for process in both:
        said, _ = process.communicate()
        assert process.returncode == 0, said
    assert_same(results, undisturbed)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cell_under_way_elsewhere_is_waited_for(
    workers: int, undisturbed: Results, tmp_path: Path
) -> None:
    """Another runner has a cell; it gives up, and this one takes the cell over."""
    results = Results(tmp_path)
    with claimed(results.underway(CELLS[0])) as mine:
        assert mine is Claim.MINE
        with claimed(results.underway(CELLS[0])) as again:
            assert again is Claim.TAKEN
        process = subprocess.Popen(
            [sys.executable, "-c", RUNNER, *(str(x) for x in (_spec(tmp_path), tmp_path, workers))],
            stdout=subprocess.PIPE,
            text=True,
        )
        while finished(results) < len(CELLS) - 1:  # all the others
            assert process.poll() is None
            time.sleep(0.01)
    process.communicate()
    assert process.returncode == 0
    assert_same(results, undisturbed)


def _spec(folder: Path) -> Path:
    path = folder / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_a_disk_that_is_full_ends_the_run_and_keeps_what_is_there(
    workers: int, undisturbed: Results, spec: Path, tmp_path: Path
) -> None:
    """The system refuses to write more than a few bytes into a file, as a full disk does."""
    pytest.importorskip("resource")
    results = Results(tmp_path / "run")
    assert run_cells(CELLS[:6], SOURCES, results).complete
    limited = RUNNER.replace(
        "import sys",
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))",
        1,
    )
    ended = subprocess.run(
        [sys.executable, "-c", limited, str(spec), str(results.folder), str(workers)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert os.strerror(errno.EFBIG) in ended.stdout
    assert len(content(results)) == 6
    assert run_cells(CELLS, SOURCES, results).complete
    assert_same(results, undisturbed)


def test_an_idle_process_that_dies_is_replaced(
    undisturbed: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers_running: list[worker_pool.Worker] = []

    class Watched(worker_pool.Worker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            workers_running.append(self)

        def give(self, cell: Cell, threads: int) -> None:
            idle = [worker for worker in workers_running if worker.is_ready and worker.cell is None]
            if len(workers_running) == 2 and len(idle) == 2:
                next(worker for worker in idle if worker is not self)._process.kill()
            super().give(cell, threads)

    monkeypatch.setattr(executor, "Worker", Watched)
    results = Results(tmp_path)
    ended = run_cells(CELLS, SOURCES, results, executor=Local(workers=2))
    assert ended.complete
    assert not ended.failures
    assert_same(results, undisturbed)


def test_a_process_that_talks_nonsense_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library prints something before the process can see to it."""
    (tmp_path / "sitecustomize.py").write_text("print('hello')")
    monkeypatch.syspath_prepend(str(tmp_path))
    ended = run_cells(CELLS[:2], SOURCES, Results(tmp_path / "run"), executor=Local(workers=2))
    assert not ended.complete
    assert "cannot start worker" in ended.trouble


def test_components_of_ones_own_module_are_found_by_the_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_for_workers.py").write_text(
        "from dataclasses import dataclass\n"
        "from faircascade.policies import LinUCB\n"
        "from faircascade.registry import register\n"
        "@register('mine-for-workers')\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Mine(LinUCB):\n"
        "    'Mine.'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {kind: registry.components(kind) for kind in registry.kinds()}
    import_module("mine_for_workers")
    try:
        spec = Spec.parse(TINY.replace('"random"', '"mine-for-workers"'))
        cells = [c for c in spec.cells(RATINGS.fingerprint) if c.policy.name == "mine-for-workers"]
        assert references(own_parts_of(cells))["components"] == ["mine_for_workers"]
        ended = run_cells(cells, SOURCES, Results(tmp_path), executor=Local(workers=2))
    finally:
        registry.names.registered.clear()
        registry.names.registered.update(before)
    assert ended.complete
    assert not ended.failures


def test_a_full_disk_at_the_very_end_does_not_lose_a_long_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "SECONDS", 0.0)
    monkeypatch.setattr(snapshot, "PAUSE", 0.0)
    results = Results(tmp_path)
    cell = replace(CELLS[0], rounds=2000, checkpoints=(2000,))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Results, "add", full)
        assert run_cells([cell], SOURCES, results, executor=Local(workers=1)).trouble
    kept = results.underway(cell)
    meta, _ = load_arrays(kept, kind="snapshot", version=snapshot.VERSION)
    assert meta["rounds"] == 2000
    assert run_cells([cell], SOURCES, results, executor=Local(workers=1)).complete
    assert not kept.exists()


def test_an_unforeseen_error_is_told_with_its_kind_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(env: Any, policy: Any, **options: Any) -> Any:
        if policy == CELLS[1].policy:
            raise MemoryError("too large")
        return simulate(env, policy, **options)

    monkeypatch.setattr(run_cell, "simulate", broken)
    ended = run_cells(CELLS[:3], SOURCES, Results(tmp_path), executor=Local(workers=1))
    assert ended.complete
    assert ended.failures == {CELLS[1].name: "MemoryError: too large"}


@pytest.mark.parametrize("name", ["workers", "threads"])
def test_at_least_one_of_everything(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Local(**{name: 0})
