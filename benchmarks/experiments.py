"""What running experiments costs beside the kernels: spreading cells, and the store.

    python benchmarks/experiments.py                 # about ten minutes on two idle cores
    python benchmarks/experiments.py --part grid     # one of: grid, large, small, store, killed

Prints Markdown tables. Runs go to a temporary folder; data is the embedded synthetic set.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from faircascade.cores import cores
from faircascade.engine import simulate
from faircascade.experiment.bench import warm_up
from faircascade.experiment.machine import describe_machine
from faircascade.experiment.running.cost_model import seconds_of
from faircascade.experiment.running.executors import Local
from faircascade.experiment.running.planning import plan_studies
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import CellOutput, Results
from faircascade.experiment.study import Study

SPEC = """
name = "{name}"
data = {{name = "synthetic"{data}}}
environment = {{users = {users}, dim = 10, k = 10}}
run = {{rounds = {rounds}, seeds = {seeds}, checkpoints = {checkpoints}}}
policies = [
    {{name = "linucb"}},
    {{name = "ealinucb", weight.grid = ["log", "linear"]}},
    {{name = "earslinucb"}},
]
"""
GRID = {"users": 1000, "rounds": 1000, "seeds": 25, "checkpoints": 40, "data": ""}
LARGE = {"users": 1000, "rounds": 20_000, "seeds": 1, "checkpoints": 40, "data": ""}
SMALL = {
    "users": 200,
    "rounds": 100,
    "seeds": 50,
    "checkpoints": 10,
    "data": ", users = 200, items = 400",
}
KILLS = 10


@dataclass(frozen=True)
class Timed:
    """A run of all cells of a study."""

    wall: float
    """Seconds from reading the data to the last cell on disk."""
    kernels: float
    """Seconds of one core that the engines say they took."""
    cells: int


def spec_of(name: str, sizes: dict[str, object]) -> Spec:
    return Spec.parse(SPEC.format(name=name, **sizes))


def timed(spec: Spec, folder: Path, executor: Local) -> Timed:
    """Run a spec in an empty folder."""
    begin = time.perf_counter()
    study = run(spec, folder, executor)
    wall = time.perf_counter() - begin
    found = [study.results.find(cell) for cell in study.cells]
    return Timed(wall, sum(seconds_of(cell) for cell in found if cell is not None), len(found))


def run(spec: Spec, folder: Path, executor: Local) -> Study:
    results = Results(folder)
    studies, sources = plan_studies([spec], results)
    ended = run_cells(studies[0].cells, sources, results, executor=executor)
    assert ended.complete, ended
    return studies[0].again()


@contextmanager
def folders() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield Path(folder)


def grid() -> None:
    """100 cells of 1,000 rounds x 1,000 users against the kernels' own time."""
    with folders() as folder:
        found = timed(spec_of("grid", GRID), folder / "run", Local())
    best = found.kernels / cores()
    print("| cells | wall | kernels, sum | kernels / cores | wall over that |")
    print("| --- | --- | --- | --- | --- |")
    print(
        f"| {found.cells} | {found.wall:.1f} s | {found.kernels:.1f} s | {best:.1f} s "
        f"| {found.wall / best:.2f} |\n"
    )


def spread(name: str, sizes: dict[str, object], policies: slice, ways: dict[str, Local]) -> None:
    """Print the wall time of the same cells spread in several ways."""
    spec = spec_of(name, sizes)
    spec = spec.changed(policies=spec.policies[policies])
    print("| how | cells | wall | speed-up | efficiency |")
    print("| --- | --- | --- | --- | --- |")
    base = None
    with folders() as folder:
        for number, (how, executor) in enumerate(ways.items()):
            found = timed(spec, folder / str(number), executor)
            base = base or found.wall
            gain, used = base / found.wall, executor.threads or 1
            print(
                f"| {how} | {found.cells} | {found.wall:.1f} s | {gain:.2f} | {gain / used:.0%} |"
            )
    print()


def large() -> None:
    """One large cell with one thread and with all."""
    warm_up()  # loading the engine is not the cell's time
    ways = {f"{n} thread{'s' * (n > 1)}": Local(workers=1, threads=n) for n in (1, cores())}
    spread("large", LARGE, slice(1), ways)


def small() -> None:
    """Many small cells with one process and with all cores."""
    ways = {f"{n} at once": Local(workers=n, threads=n) for n in (1, cores())}
    spread("small", SMALL, slice(None), ways)


def store(cells: int = 200) -> None:
    """What it takes to write a cell, to look one up, and to read one."""
    with folders() as folder:
        spec = spec_of("store", SMALL | {"seeds": 1})
        study = run(spec, folder, Local(workers=1))
        full = spec_of("full", GRID | {"seeds": 1, "rounds": 50})
        print("| cell | files | write | look up | read |")
        print("| --- | --- | --- | --- | --- |")
        for name, one in (("small", study), ("2,800 items, 40 checkpoints", None)):
            one = one or run(full, folder / "full", Local(workers=1))
            cell = one.cells[0]
            env = _environment(one)
            result = simulate(
                env, cell.policy, rounds=cell.rounds, seed=1, checkpoints=cell.checkpoints
            )
            product = CellOutput.of(cell, result)
            begin = time.perf_counter()
            for number in range(cells):
                Results(folder / f"w{name}{number}").add(cell, product)
            wrote = time.perf_counter()
            for number in range(cells):
                assert Results(folder / f"w{name}{number}").find(cell) is not None
            looked = time.perf_counter()
            size = 0
            for number in range(cells):
                place = folder / f"w{name}{number}" / "cells" / cell.key
                json.loads((place / "cell.json").read_text())
                pq.read_table(place / "curves.parquet")
                size = sum(path.stat().st_size for path in place.iterdir())
            read = time.perf_counter()
            print(
                f"| {name} | {size / 1000:.0f} kB | {1e3 * (wrote - begin) / cells:.1f} ms "
                f"| {1e3 * (looked - wrote) / cells:.1f} ms "
                f"| {1e3 * (read - looked) / cells:.1f} ms |"
            )
    print()


def _environment(study: Study):  # type: ignore[no-untyped-def]
    from faircascade.experiment.store.environments import EnvironmentStore, Sources

    return EnvironmentStore(study.results.environments, Sources()).of(study.cells[0])


def killed() -> None:
    """200 small cells through the command, killed with -9 at random moments."""
    from faircascade.experiment.difference import difference
    from faircascade.experiment.store.manifest import read_studies

    moments = random.Random(0)
    with folders() as folder:
        (folder / "small.toml").write_text(SPEC.format(name="small", **SMALL))
        command = [sys.executable, "-m", "faircascade", "run", "small.toml", "--workers", "2"]

        def start(out: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*command, "--out", out],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

        begin = time.perf_counter()
        assert start("whole").wait() == 0
        wall = time.perf_counter() - begin
        reached = []
        for _ in range(KILLS):
            process = start("killed")
            time.sleep(moments.uniform(1.0, 1.0 + wall / 5))
            process.kill()
            process.wait()
            reached.append(len(list((folder / "killed/cells").glob("[0-9a-f]*"))))
        assert start("killed").wait() == 0
        found = difference(read_studies(folder / "whole"), read_studies(folder / "killed"))
        left = [path.name for path in (folder / "killed").rglob("*.part")]
        print(f"Killed {KILLS} times, with {reached} cells finished by then.")
        print(
            f"Then {found.same} cells the same as undisturbed, {len(found.deviating)} not, "
            f"{found.only_before} lost, {found.only_after} too many; left behind: {left}\n"
        )


PARTS = {"grid": grid, "large": large, "small": small, "store": store, "killed": killed}


def main() -> None:
    """Measure one part, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append")
    machine = describe_machine()
    print(f"{machine['machine']['cpu']}, {cores()} cores, {machine['date']}\n")
    for name in parser.parse_args().part or PARTS:
        print(f"## {name}: {PARTS[name].__doc__}\n")
        PARTS[name]()


if __name__ == "__main__":
    main()
