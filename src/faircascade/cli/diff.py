"""faircascade diff: what changed from one run to another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import percent, print_json, print_table
from faircascade.cli.options import AsJson

if TYPE_CHECKING:
    from faircascade.experiment.difference import Change, Difference


def diff(
    before: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a run.")],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of another run.")],
    as_json: AsJson = False,
) -> None:
    """Show what changed from one run to another.

    Compares specs, versions, machines and results. Exits with 1 if specs or results differ.
    """
    from faircascade.experiment.difference import difference
    from faircascade.experiment.store.manifest import read_studies

    found = difference(read_studies(before), read_studies(after))
    if as_json:
        print_json(_document(found))
    else:
        _print(found, str(before), str(after))
    if not found.nothing:
        raise typer.Exit(1)


def _print(found: Difference, before: str, after: str) -> None:
    _print_changes("What was asked for", found.asked, before, after)
    _print_changes("Versions and machine", found.circumstances, before, after)
    typer.echo(
        f"Cells: {found.same:,} the same, {len(found.deviating):,} with the same settings but "
        f"other numbers, {found.only_before:,} only in {before}, {found.only_after:,} only in "
        f"{after}"
    )
    for cell in found.deviating:
        typer.echo(f"  other numbers: {cell}")
    if found.shifts:
        print_table(
            [
                "Policy",
                "Environment",
                "Metric",
                before,
                after,
                "Change",
                "p (Holm)",
                "Seeds",
            ],
            [
                [
                    shift.policy,
                    shift.environment,
                    shift.metric,
                    f"{shift.before:.4g}",
                    f"{shift.after:.4g}",
                    percent(shift.contrast.percent),
                    _p(shift.contrast.corrected),
                    str(shift.contrast.seeds),
                ]
                for shift in found.shifts
            ],
            title="Results that changed, over the seeds that both runs have",
            numbers=True,
            names=3,
        )


def _print_changes(title: str, changes: Sequence[Change], before: str, after: str) -> None:
    if changes:
        print_table(["", before, after], [list(change) for change in changes], title=title)


def _p(value: float) -> str:
    return "–" if value != value else f"{value:.2g}"


def _document(found: Difference) -> dict[str, Any]:
    return {
        "nothing": found.nothing,
        "asked": [change._asdict() for change in found.asked],
        "circumstances": [change._asdict() for change in found.circumstances],
        "same": found.same,
        "deviating": list(found.deviating),
        "only_before": found.only_before,
        "only_after": found.only_after,
        "results": [
            {
                "environment": shift.environment,
                "policy": shift.policy,
                "metric": shift.metric,
                "before": _plain(shift.before),
                "after": _plain(shift.after),
                "percent": _plain(shift.contrast.percent),
                "p": _plain(shift.contrast.corrected),
                "seeds": shift.contrast.seeds,
            }
            for shift in found.shifts
        ],
    }


def _plain(value: float) -> float | None:
    return None if value != value else float(value)
