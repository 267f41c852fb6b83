"""Runs cells; finished ones are skipped, and an early end keeps what is finished."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faircascade.experiment.cell import Cell
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.executors import Executor, Local, Plan, executor_named
from faircascade.experiment.running.planning import plan_studies, try_environments
from faircascade.experiment.running.work_queue import WorkQueue
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.manifest import record
from faircascade.experiment.store.results import Results
from faircascade.experiment.store.tables import load_results
from faircascade.experiment.study import Study
from faircascade.progress import Report

log = logging.getLogger("faircascade")


@dataclass(frozen=True)
class RunOutcome:
    """How running cells ended."""

    complete: bool
    """False if Ctrl-C, or trouble, came before the end."""
    failures: Mapping[str, str]
    """Cells that cannot be run, and why."""
    trouble: str = ""
    """What ended it, if not Ctrl-C: a full disk, say."""


def run_cells(
    cells: Sequence[Cell],
    sources: Sources,
    results: Results,
    *,
    executor: Executor | None = None,
    progress: Report | None = None,
    say: Callable[[str], None] | None = None,
) -> RunOutcome:
    """Run what is not finished. A cell that cannot be run is noted, and the others go on."""
    queue = WorkQueue(cells, results, CostModel.on(sources), progress, say)
    results.forget(cells)
    try:
        if len(queue):
            (executor or Local()).run(Plan(queue, results, sources))
    except KeyboardInterrupt:
        return RunOutcome(False, queue.failures)
    except OSError as error:
        return RunOutcome(False, queue.failures, str(error) or type(error).__name__)
    return RunOutcome(True, queue.failures)


def run_studies(
    studies: Sequence[Study],
    sources: Sources,
    results: Results,
    *,
    executor: Executor | None = None,
    progress: Report | None = None,
    say: Callable[[str], None] | None = None,
) -> RunOutcome:
    """Run what is missing of some studies, and keep the manifest of their folder."""
    cells = [cell for study in studies for cell in study.cells]
    record(studies, results.folder)
    ended = run_cells(cells, sources, results, executor=executor, progress=progress, say=say)
    with suppress(*([OSError] if ended.trouble else [])):  # a full disk is reported once
        record(studies, results.folder)
    return ended


def run_experiment(
    spec: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    settings: Iterable[str] = (),
    executor: Executor | str | None = None,
    progress: Report | None = None,
    backend: str | None = None,
) -> Any:
    """Run what a spec file, or the same as plain data, asks for; return `load_results` of it.

    Results go to the folder `out` (default: runs/NAME), and what is finished there is not run
    again. `settings` are `path.to.key=value` in place of what the file says. `executor` is where
    cells run: "local" (default), "gpu", "ray", or one with options of its own.
    """
    where = executor_named(executor)() if isinstance(executor, str) else executor
    if isinstance(spec, Mapping):
        asked = Spec.of(spec, settings=settings)
        asked.check_data()
    else:
        asked = Spec.load(spec, settings)
    results = Results(Path(out) if out is not None else asked.default_folder)
    studies, sources = plan_studies([asked], results)
    try_environments(studies, sources)
    ended = run_studies(
        studies, sources, results, executor=where, progress=progress, say=log.warning
    )
    for cell, reason in ended.failures.items():
        log.warning("Not run: %s: %s", cell, reason)
    if len(ended.failures) == len({cell.key for cell in studies[0].cells}):
        raise ValueError(f"nothing could be run: {next(iter(ended.failures.values()))}")
    if not ended.complete:
        raise OSError(ended.trouble) if ended.trouble else KeyboardInterrupt
    return load_results(results.folder, backend=backend)
