"""faircascade run: every cell of a spec file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.console import print_json, remark
from faircascade.cli.equal_cost import (
    FairestWithin,
    checks_document,
    print_checks,
    tuned_policies,
)
from faircascade.cli.options import (
    Address,
    AsJson,
    ExecutorName,
    ItemsOver,
    MLflow,
    SpecFile,
    SpecSettings,
    Threads,
    Workers,
)
from faircascade.cli.run_output import (
    choose_executor,
    execute,
    leave,
    log_cells,
    plan,
    tell_ending,
    tell_plan,
)
from faircascade.cli.study_output import print_results, study_document
from faircascade.storage import check_folder


def run(
    spec: SpecFile,
    settings: SpecSettings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; default: runs/NAME.")
    ] = None,
    executor: ExecutorName = "local",
    address: Address = None,
    workers: Workers = None,
    threads: Threads = None,
    over: ItemsOver = "catalogue",
    mlflow: MLflow = None,
    within: FairestWithin = None,
    dry: Annotated[bool, typer.Option("--plan", help="Print the plan and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run every policy, environment and seed of a spec file.

    Finished cells are not run again: the same command continues where it stopped.
    """
    from faircascade.experiment.spec import Spec
    from faircascade.experiment.store.results import Results
    from faircascade.experiment.tracking import check_mlflow
    from faircascade.metrics.tally import check_over
    from faircascade.report import check_show

    items = check_over(over)
    where = choose_executor(executor, address=address, workers=workers, threads=threads)
    asked = Spec.load(spec, settings or [])
    check_show(asked)
    if asked.rounds == 0:
        raise asked.error("rounds must be at least 1 for something to run", "run", "rounds")
    if within is not None:
        from faircascade.experiment.tuning.every import fairest_within

        asked = fairest_within(asked, within)
    folder = out or asked.default_folder
    if mlflow is not None:
        check_mlflow(mlflow)
    results = Results(folder if dry else check_folder(folder))
    tuned = None
    if within is not None and not dry:
        tuned = tuned_policies(asked, results, where)
        asked = tuned.comparison
    studies, sources = plan([asked], results, keep=folder.exists())
    tell = typer.echo if dry and not as_json else remark  # a plan is then the result
    missing = tell_plan(studies, results, sources, where, tell)
    if dry:
        if as_json:
            print_json(study_document(studies[0].measured(items)))
        return
    ended = execute(studies, results, sources, where)
    study = studies[0].again().measured(items)
    if as_json:
        checks = {} if tuned is None else {"tuned": checks_document(tuned, study)}
        print_json(study_document(study) | {"failures": dict(ended.failures)} | checks)
    else:
        print_results(study)
        if tuned is not None:
            print_checks(tuned, study)
    tell_ending(ended, study.missing)
    if mlflow is not None:
        log_cells(folder, mlflow)
    if missing and study.missing < len(study.cells):
        remark(f"Report: faircascade report {folder}")
    leave(ended)
