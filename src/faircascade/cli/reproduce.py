"""faircascade reproduce: the paper's tables and figures, next to its published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import print_json, print_table, progress, remark
from faircascade.cli.data import showing
from faircascade.readings import check_reading
from faircascade.storage import check_folder

if TYPE_CHECKING:
    from faircascade.experiment.spec import Spec
    from faircascade.experiment.study import Study


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="fig1, rq1, rq2, rq3, theory, readings, worlds, frm, all, or a spec file (.toml)."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Another data set than the spec's (ml-1m), or a file.")
    ] = None,
    path: Annotated[Path | None, typer.Option(help="Archive or folder of the data set.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds (default: the spec's, 50000).")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds (default: the spec's, 5 for RQ1 to RQ3).")
    ] = None,
    reading: Annotated[
        str | None, typer.Option(help="reference (default), paper or intended.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="All of it in minutes: synthetic data, few rounds.")
    ] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Only write the page, of what is finished.")
    ] = False,
    threads: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder (default: runs/reproduce/DATA).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run the paper's experiments and hold them against what it published.

    What is finished is not run again: the same command goes on where it stopped.
    """
    from faircascade.experiment.results import Results
    from faircascade.experiment.runner import run_cells
    from faircascade.experiment.study import Study
    from faircascade.paper.specs import adapt, find_specs
    from faircascade.report.reproduction import check_show, count_verdicts, write_reproduction

    if reading is not None:
        check_reading(reading)
    options: dict[str, Any] = {"data": data, "rounds": rounds, "seeds": seeds, "reading": reading}
    specs = [adapt(spec, **options, quick=quick) for spec in find_specs(what or [])]
    for spec in specs:
        check_show(spec)
    folder = check_folder(out or Path("runs/reproduce") / _name(specs, quick))
    results = Results(folder)
    studies: list[Study] = []
    finished = not no_run
    failures: dict[str, str] = {}
    for source, group in _by_data(specs):
        if source is None:
            studies.extend(Study(spec, (), results) for spec in group)
            continue
        with showing() as report:
            ratings = _load(source, path, report)
        for note in ratings.notes:
            remark(note)
        planned = [Study(s, tuple(s.cells(ratings.fingerprint)), results) for s in group]
        cells = [cell for study in planned for cell in study.cells]
        distinct = {cell.key for cell in cells}
        missing = {cell.key for cell in cells if results.find(cell) is None}
        remark(
            f"{ratings.name}: {len(distinct):,} cells, {len(distinct) - len(missing):,} of them "
            f"finished before; results in {folder}"
        )
        studies.extend(planned)
        if missing and finished:
            with progress("Running") as tell:
                ended = run_cells(cells, ratings, results, threads=threads, progress=tell)
            finished = ended.complete
            failures |= ended.failures
    studies.sort(key=lambda study: [spec.name for spec in specs].index(study.spec.name))
    page = write_reproduction(studies, folder)
    counted = count_verdicts(studies)
    left = sum(study.missing for study in studies)
    if as_json:
        print_json({"page": str(page), "missing": left, "verdicts": counted})
    elif counted:
        print_table(
            ["Held against published numbers", "comparisons"],
            [[kind, f"{count:,}"] for kind, count in counted.items()],
            numbers=True,
        )
    if not finished and not no_run:
        remark(f"Stopped early, {left:,} cells to go: the same command goes on from here.")
    for cell, reason in failures.items():
        remark(f"Not run: {cell}: {reason}")
    remark(f"Page: {page}")
    if failures:
        raise typer.Exit(1)


def _by_data(specs: Sequence[Spec]) -> list[tuple[dict[str, Any] | None, list[Spec]]]:
    """Return the specs of each data set; those that simulate nothing need none."""
    groups: list[tuple[dict[str, Any] | None, list[Spec]]] = []
    for spec in specs:
        source = None if spec.rounds == 0 else dict(spec.data)
        for known, members in groups:
            if known == source:
                members.append(spec)
                break
        else:
            groups.append((source, [spec]))
    return groups


def _load(source: dict[str, Any], path: Path | None, report: Any) -> Any:
    import faircascade as fc

    options = {name: value for name, value in source.items() if name != "name"}
    return fc.load_dataset(source["name"], path=path, progress=report, **options)


def _name(specs: Sequence[Spec], quick: bool) -> str:
    names = dict.fromkeys(Path(str(s.data["name"])).stem for s in specs if s.rounds > 0)
    return "-".join([*names, *(["quick"] if quick else [])]) or "figures"
