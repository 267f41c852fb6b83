"""faircascade reproduce: the paper's tables and figures, next to its published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.click_bandit_studies import StudyOptions, click_bandit_study
from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.equal_cost import tuned_policies
from faircascade.cli.options import Address, AsJson, ExecutorName, Threads, Workers
from faircascade.cli.run_output import choose_executor, execute, leave, plan, tell_ending, tell_plan
from faircascade.errors import ParameterError
from faircascade.readings import check_reading
from faircascade.storage import check_folder

if TYPE_CHECKING:
    from faircascade.experiment.spec import Spec


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="all (the default): fig1, rq1, rq2, rq3, theory, readings, environments and frm; "
            "or some of these; or frm-full, grid, worlds, generality, fair-rankers or a spec file "
            "(.toml); or, alone, kveton2015 (Table 1 of the cascading bandits) or yandex (click "
            "bandits under click models fitted to 60 queries, from a file given by --path).",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Data set or file; default: that of the spec (ml-1m).")
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option(help="Archive or folder of the data set; for yandex its file of models."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Rounds; default: those of the spec (50000), or 100000 for kveton2015 and yandex."
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Number of seeds; default: those of the spec (5 for RQ1 to RQ3), or 20 for "
            "kveton2015 and yandex."
        ),
    ] = None,
    reading: Annotated[
        str | None,
        typer.Option(help="Reading of the formulas: reference (default), paper or intended."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Synthetic data and few rounds: takes minutes.")
    ] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Run nothing; write the page from finished cells.")
    ] = False,
    executor: ExecutorName = "local",
    address: Address = None,
    workers: Workers = None,
    threads: Threads = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results; default: runs/reproduce/DATA, for kveton2015 and yandex "
            "runs/reproduce/WHAT."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and compare with its numbers.

    Finished cells and runs are not run again: the same command continues where it stopped.
    """
    if what and (study := click_bandit_study(what)):
        study(
            StudyOptions(
                path=path,
                out=out,
                rounds=rounds,
                seeds=seeds,
                quick=quick,
                threads=threads,
                as_json=as_json,
                refused={
                    "data": data,
                    "reading": reading,
                    "address": address,
                    "workers": workers,
                    "executor": None if executor == "local" else executor,
                    "--no-run": no_run or None,
                },
            )
        )
        return
    from faircascade.experiment.running.runner import RunOutcome
    from faircascade.experiment.store.results import Results
    from faircascade.experiment.tuning.every import tuned_before, tunes_all
    from faircascade.paper.specs import adapt, find_specs
    from faircascade.report import check_show, count_verdicts, write_reproduction

    where = choose_executor(executor, address=address, workers=workers, threads=threads)
    if reading is not None:
        check_reading(reading)
    if seeds is not None and seeds < 1:
        raise ParameterError("seeds", "must be at least 1", seeds)
    options: dict[str, Any] = {"data": data, "rounds": rounds, "seeds": seeds, "reading": reading}
    specs = [
        with_path(adapt(spec, **options, quick=quick), path) for spec in find_specs(what or [])
    ]
    for spec in specs:
        check_show(spec)
    folder = check_folder(out or Path("runs/reproduce") / _name(specs, quick))
    results = Results(folder)
    if no_run:
        specs = [tuned_before(spec, folder) for spec in specs]
    else:
        specs = [
            tuned_policies(spec, results, where).comparison if tunes_all(spec) else spec
            for spec in specs
        ]
    studies, sources = plan(specs, results)
    missing = tell_plan(studies, results, sources, where)
    ended = RunOutcome(True, {})
    if missing and not no_run:
        ended = execute(studies, results, sources, where)
        studies = [study.again() for study in studies]
    page = write_reproduction(studies, folder)
    counted = count_verdicts(studies)
    left = sum(study.missing for study in studies)
    if as_json:
        print_json({"page": str(page), "missing": left, "verdicts": counted})
    elif counted:
        print_table(
            ["Compared with published numbers", "comparisons"],
            [[kind, f"{count:,}"] for kind, count in counted.items()],
            numbers=True,
        )
    tell_ending(ended, left)
    remark(f"Page: {page}")
    leave(ended)


def with_path(spec: Spec, path: Path | None) -> Spec:
    """Return a spec whose data set is read from a path."""
    if path is None or spec.rounds == 0:
        return spec
    return spec.changed(data={**spec.data, "path": str(path)})


def _name(specs: Sequence[Spec], quick: bool) -> str:
    names = dict.fromkeys(Path(str(s.data["name"])).stem for s in specs if s.rounds > 0)
    return "-".join([*names, *(["quick"] if quick else [])]) or "figures"
