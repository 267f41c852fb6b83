"""faircascade tune: search the parameters of a policy, then compare on other seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from faircascade.cli.console import counted, print_json, remark
from faircascade.cli.equal_cost import (
    FairestWithin,
    checks_document,
    print_checks,
    tuned_policies,
)
from faircascade.cli.options import Address, AsJson, ExecutorName, SpecSettings, Threads, Workers
from faircascade.cli.run_output import (
    STOPPED,
    choose_executor,
    execute,
    lasting,
    leave,
    plan,
    tell_ending,
)
from faircascade.cli.study_output import print_results, study_document
from faircascade.cli.tuning_output import (
    nothing_found,
    print_outcome,
    print_trials,
    tuned_document,
)
from faircascade.progress import progress
from faircascade.storage import check_folder

if TYPE_CHECKING:
    from faircascade.experiment.running.executors import Executor
    from faircascade.experiment.spec import Spec
    from faircascade.experiment.store.environments import Sources
    from faircascade.experiment.store.results import Results
    from faircascade.experiment.tuning.loop import Tuned
    from faircascade.experiment.tuning.search import Search
    from faircascade.experiment.tuning.trial import Trial


@dataclass(frozen=True)
class TuningTask:
    """A search, with what it is run on."""

    search: Search
    fingerprint: str
    """Of the ratings."""
    sources: Sources
    results: Results
    executor: Executor


def tune(
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC",
            help="Spec file (.toml) with a table [tune], or any with --fairest-within.",
        ),
    ],
    settings: SpecSettings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; default: runs/NAME-tune.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Number of trials; default: that of the spec.")
    ] = None,
    within: FairestWithin = None,
    executor: ExecutorName = "local",
    address: Address = None,
    workers: Workers = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Search a policy's parameters, then compare on other seeds.

    Finished trials are not run again: the same command continues where it stopped.
    """
    from faircascade.experiment.spec import Spec
    from faircascade.experiment.store.results import Results
    from faircascade.experiment.tuning.every import fairest_within, tunes_all
    from faircascade.experiment.tuning.proposals import require_optuna
    from faircascade.experiment.tuning.search import Search
    from faircascade.experiment.tuning.tuned import TUNED, write_trials

    where = choose_executor(executor, address=address, workers=workers, threads=threads)
    asked = Spec.load(spec, settings or [])
    if within is not None:
        asked = fairest_within(asked, within)
    if tunes_all(asked):
        folder = check_folder(out or asked.default_folder.with_name(f"{asked.name}-tune"))
        with staying(where):
            compare_all(asked, Results(folder), where, trials, as_json)
        return
    require_optuna()
    search = Search.of(asked, trials=trials)
    folder = check_folder(out or asked.default_folder.with_name(f"{asked.name}-tune"))
    results = Results(folder)
    studies, sources = plan([asked], results)
    task = TuningTask(search, studies[0].cells[0].fingerprint, sources, results, where)
    with staying(where):
        tell_search(task)
        tuned = run_search(task)
        if tuned.trials:
            write_trials(tuned, folder)
        if not as_json:
            print_trials(tuned)
        if not tuned.complete:
            stop(tuned, as_json)
        if tuned.best is None:
            (folder / TUNED).unlink(missing_ok=True)  # of an earlier search
            give_up(tuned, as_json)
        compare_best(task, tuned, tuned.best, as_json)


def compare_all(
    spec: Spec, results: Results, executor: Executor, trials: int | None, as_json: bool
) -> None:
    """Tune every policy of a spec, then compare them on other seeds."""
    tuned = tuned_policies(spec, results, executor, trials=trials)
    studies, sources = plan([tuned.comparison], results)
    ended = execute(studies, results, sources, executor)
    study = studies[0].again()
    if as_json:
        document = {"tuned": checks_document(tuned, study), "comparison": study_document(study)}
        print_json(document | {"failures": dict(ended.failures)})
    else:
        print_results(study)
        print_checks(tuned, study)
    tell_ending(ended, study.missing)
    leave(ended)


@contextmanager
def staying(executor: Executor) -> Iterator[None]:
    """Stay connected to a cluster between trials, which would start it again for each."""
    from faircascade.experiment.running.executors.ray import Ray, connected

    if not isinstance(executor, Ray):
        yield
        return
    with connected(executor):
        yield


def tell_search(task: TuningTask) -> None:
    """Say what is to be searched, and about how long that will take."""
    from faircascade.experiment.running.cost_model import CostModel, duration
    from faircascade.experiment.running.executors import Plan
    from faircascade.experiment.running.work_queue import WorkQueue

    search = task.search
    candidates, spec = search.candidates, search.spec
    bounds = "".join(f", {bound}" for bound in search.bounds)
    remark(
        f"{spec.name}: {'most' if search.maximize else 'least'} {search.metric}{bounds}, "
        f"over {', '.join(candidates.ranges)} of {candidates.written['name']}"
    )
    cells = search.cells(candidates.entry(candidates.start), task.fingerprint)
    fresh = all(task.results.find(cell) is None for cell in cells)
    queue = WorkQueue(cells, task.results, CostModel.on(task.sources))
    tried = list(cells) * (search.trials + 1)  # the baseline, too
    seconds = duration(tried, Plan(queue, task.results, task.sources), task.executor)
    estimate = f", about {lasting(seconds)}" if fresh else ""
    remark(
        f"Up to {counted(search.trials, 'trial')} x {counted(len(cells), 'seed')} of "
        f"{search.rounds:,} rounds{estimate}, then {counted(len(spec.seeds), 'other seed')} of "
        f"{spec.rounds:,} rounds; results in {task.results.folder}"
    )


def run_search(task: TuningTask) -> Tuned:
    """Search, with one progress bar for all of it."""
    from faircascade.experiment.tuning.loop import tune

    with progress("Tuning") as tell:
        return tune(
            task.search,
            task.fingerprint,
            task.sources,
            task.results,
            executor=task.executor,
            progress=tell,
            say=remark,
        )


def stop(tuned: Tuned, as_json: bool) -> NoReturn:
    """End a search that was stopped."""
    if as_json:
        print_json(tuned_document(tuned))
    why = f" ({tuned.trouble})" if tuned.trouble else ""
    left = counted(tuned.search.trials - len(tuned.trials), "trial")
    remark(f"Stopped early{why}, {left} to go. Run the same command to continue.")
    raise typer.Exit(1 if tuned.trouble else STOPPED)


def give_up(tuned: Tuned, as_json: bool) -> NoReturn:
    """End a search that found nothing."""
    if as_json:
        print_json(tuned_document(tuned))
    remark(nothing_found(tuned))
    raise typer.Exit(1)


def compare_best(task: TuningTask, tuned: Tuned, best: Trial, as_json: bool) -> None:
    """Run the final comparison, and say whether the bounds hold there."""
    from faircascade.experiment.study import Study
    from faircascade.experiment.tuning.tuned import (
        comparison_of,
        label_of,
        verdicts,
        write_comparison,
    )

    spec = comparison_of(tuned, best)
    label = label_of(spec, tuned, best)
    path = write_comparison(spec, tuned, best, task.results.folder)
    study = Study(spec, tuple(spec.cells(task.fingerprint)), task.results)
    ended = execute([study], task.results, task.sources, task.executor)
    study = study.again()
    (environment,) = study.environments
    found = verdicts(study, label, tuned)
    if as_json:
        print_json(
            tuned_document(tuned)
            | {
                "policy": label,
                "parameters": dict(best.values),
                "comparison": study_document(study),
                "bounds": [verdict.document() for verdict in found],
                "failures": dict(ended.failures),
            }
        )
    else:
        print_results(study)
        print_outcome(best, label, environment.baseline, found)
    tell_ending(ended, study.missing)
    remark(f"Spec of the comparison: {path}")
    leave(ended)
