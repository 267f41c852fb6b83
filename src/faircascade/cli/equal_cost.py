"""Tuning all policies of a spec before they are compared: for `tune`, `run` and `reproduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import counted, print_table, remark
from faircascade.cli.run_output import STOPPED, plan
from faircascade.cli.tuning_output import listed
from faircascade.progress import progress

if TYPE_CHECKING:
    from faircascade.experiment.running.executors import Executor
    from faircascade.experiment.spec import Spec
    from faircascade.experiment.store.results import Results
    from faircascade.experiment.study import Study
    from faircascade.experiment.tuning.every import TunedPolicies

FairestWithin = Annotated[
    str | None,
    typer.Option(
        "--fairest-within",
        metavar="SHARE",
        help='Tune every fair policy to the fairest within a share of the clicks ("2%"), on seeds '
        "of their own, and compare these.",
    ),
]


def tuned_policies(
    spec: Spec, results: Results, executor: Executor, *, trials: int | None = None
) -> TunedPolicies:
    """Tune every policy of a spec, and write the tuned spec and all trials beside the results."""
    from faircascade.experiment.tuning.every import tune_every, write_tuned

    studies, sources = plan([spec], results)
    with progress("Tuning") as tell:
        tuned = tune_every(
            spec,
            studies[0].cells[0].fingerprint,
            sources,
            results,
            trials=trials,
            executor=executor,
            progress=tell,
            say=remark,
        )
    if any(found.trials for found in tuned.found.values()):
        path = write_tuned(tuned, results.folder)
        if tuned.complete:
            remark(f"Tuned {counted(len(tuned.found), 'policy')}: {path}")
    if not tuned.complete:
        why = f" ({tuned.trouble})" if tuned.trouble else ""
        remark(f"Stopped early{why} while tuning. Run the same command to continue.")
        raise typer.Exit(1 if tuned.trouble else STOPPED)
    return tuned


def print_checks(tuned: TunedPolicies, study: Study) -> None:
    """Print what each policy was tuned to, and whether it keeps to the bounds elsewhere."""
    checks = tuned.checks(study)
    bounds = next(iter(tuned.found.values())).search.bounds
    rows = []
    for number, of in checks.items():
        trial = tuned.chosen(number)
        if trial is not None:
            there = "yes" if trial.is_feasible else "NO"
            rows.append([tuned.label(number), listed(trial.values), there, *map(_shown, of)])
    if rows:
        title = "The fairest within the bounds; on the seeds of the search, and on the others"
        heads = ["Policy", "Tuned to", "Within", *map(str, bounds)]
        print_table(heads, rows, title=title)


def checks_document(tuned: TunedPolicies, study: Study) -> list[dict[str, Any]]:
    """Return the same as plain data."""
    checks = tuned.checks(study)
    return [
        {
            "policy": tuned.label(number),
            "parameters": {} if trial is None else dict(trial.values),
            "within": trial is not None and trial.is_feasible,
            "trials": len(found.trials),
            "bounds": [check.document() for check in checks.get(number, [])],
        }
        for number, found in tuned.found.items()
        for trial in [tuned.chosen(number)]
    ]


def _shown(check: Any) -> str:
    shown = check.bound.shown
    held = "yes" if check.holds else "NO"
    interval = f"[{shown(check.interval.low)}, {shown(check.interval.high)}]"
    return f"{shown(check.measured)} {interval} {held}"
