"""What commands that run cells share: where, how long it will take, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from faircascade import __version__
from faircascade.cli.console import counted, remark
from faircascade.cli.data import showing, tell_of_ratings
from faircascade.progress import progress

if TYPE_CHECKING:
    from faircascade.experiment.cell import Cell
    from faircascade.experiment.running.executors import Executor
    from faircascade.experiment.running.runner import RunOutcome
    from faircascade.experiment.spec import Spec
    from faircascade.experiment.store.environments import Sources
    from faircascade.experiment.store.results import Results
    from faircascade.experiment.study import Study

STOPPED = 130
"""Exit code after Ctrl-C."""


def choose_executor(
    name: str, *, address: str | None, workers: int | None, threads: int | None
) -> Executor:
    """Return the executor that the command line asks for."""
    from faircascade.engine.gpu.device import NoGPU
    from faircascade.experiment.running.executors import executor_named

    kind = executor_named(name, asked_as="--executor")
    if name != "ray" and address is not None:
        raise ValueError("--address needs --executor ray")
    if name == "gpu" and workers is not None:
        raise ValueError("--workers needs --executor local or ray")
    options = {
        "threads": threads,
        **({"workers": workers} if name != "gpu" else {}),
        **({"address": address} if name == "ray" else {}),
    }
    try:
        return kind(**options)
    except NoGPU as error:
        raise ValueError(f"{error.why}; --executor local needs no GPU") from error


def plan(
    specs: Sequence[Spec], results: Results, *, keep: bool = True
) -> tuple[list[Study], Sources]:
    """Read the data, plan what is to be run, and refuse what cannot be.

    Environments that are built for that are kept, unless nothing is to be written yet.
    """
    from faircascade.experiment.running.planning import plan_studies, try_environments

    with showing() as report:
        studies, sources = plan_studies(specs, results, progress=report)
    environments = [environment for spec in specs for environment in spec.environments()]
    users = max((environment.get("users", 0) for environment in environments), default=0)
    for ratings in sources.known.values():
        tell_of_ratings(ratings, users, [e.get("threshold") for e in environments])
    try_environments(studies, sources, keep=keep)
    return studies, sources


def tell_plan(
    studies: Sequence[Study],
    results: Results,
    sources: Sources,
    executor: Executor,
    tell: Callable[[str], None] = remark,
) -> int:
    """Say how much is to be run and how long that will take; return how many cells."""
    from faircascade.experiment.running.cost_model import CostModel, duration
    from faircascade.experiment.running.executors import Plan
    from faircascade.experiment.running.work_queue import WorkQueue

    cells = {cell.key: cell for study in studies for cell in study.cells}
    queue = WorkQueue(cells.values(), results, CostModel.on(sources))
    for study in studies:
        if study.cells:
            tell(f"{study.spec.name}: {_sizes(study)}")
    before = len(cells) - len(queue)
    finished = f", {before:,} of them already finished" if before else ""
    tell(f"{counted(len(cells), 'cell')}{finished}; results in {results.folder}")
    for version, count in _other_versions(list(cells.values()), results).items():
        tell(
            f"{count:,} of them were computed by faircascade {version}, not {__version__}; "
            "use another folder (--out) to run them again"
        )
    if len(queue):
        planned = Plan(queue, results, sources)
        estimate = duration(list(cells.values()), planned, executor)
        where = executor.describe(planned)
        tell(f"{len(queue):,} to run, {where}: about {lasting(estimate)}")
    return len(queue)


def execute(
    studies: Sequence[Study], results: Results, sources: Sources, executor: Executor
) -> RunOutcome:
    """Run what is missing, with a progress bar."""
    from faircascade.experiment.running.runner import run_studies

    with progress("Running") as tell:
        return run_studies(studies, sources, results, executor=executor, progress=tell, say=remark)


def tell_ending(ended: RunOutcome, left: int) -> None:
    """Say what was not run, and why."""
    for cell, reason in ended.failures.items():
        remark(f"Not run: {cell}: {reason}")
    if not ended.complete:
        why = f" ({ended.trouble})" if ended.trouble else ""
        queue = counted(left, "cell")
        remark(f"Stopped early{why}, {queue} to go. Run the same command to continue.")


def exit_code(ended: RunOutcome) -> int:
    """Return 0 if all went well, 130 after Ctrl-C, 1 if something could not be run."""
    if not ended.complete and not ended.trouble:
        return STOPPED
    return 1 if ended.trouble or ended.failures else 0


def leave(ended: RunOutcome) -> None:
    """End the command with its exit code."""
    code = exit_code(ended)
    if code:
        raise typer.Exit(code)


def lasting(seconds: float) -> str:
    """Return a length of time as people say it.

    >>> [lasting(s) for s in (0.4, 40, 100, 5400, 260000)]
    ['1 s', '40 s', '2 min', '1.5 h', '3.0 days']
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"


def _other_versions(cells: Sequence[Cell], results: Results) -> Counter[str]:
    """Count the finished cells that another version of this package computed."""
    found = (results.find(cell) for cell in cells)
    versions = Counter(run.about["versions"]["faircascade"] for run in found if run is not None)
    del versions[__version__]
    return versions


def _sizes(study: Study) -> str:
    spec = study.spec
    environments = len(spec.sources()) * len(spec.environments())
    parts = (
        (environments, "environment"),
        (len(spec.seeds), "seed"),
        (len(spec.lines()), "policy"),
    )
    return " x ".join(counted(count, noun) for count, noun in parts)


def log_cells(folder: Path, address: str) -> None:
    """Log the finished cells of a run to MLflow."""
    from faircascade.experiment.tracking import log_to_mlflow

    logged = counted(log_to_mlflow(folder, uri=address), "cell")
    remark(f"MLflow: {logged} logged to {address}")
