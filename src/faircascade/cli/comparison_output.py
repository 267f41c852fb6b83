"""Comparisons in memory: what becomes of them on disk and on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from faircascade.cli.console import counted, print_json, remark
from faircascade.cli.run_output import STOPPED
from faircascade.cli.study_output import print_results

if TYPE_CHECKING:
    from faircascade.experiment import Comparison


def write_comparison(
    comparison: Comparison, folder: Path, *, title: str | None = None, notes: Iterable[str] = ()
) -> Path:
    """Write results and report into a folder; return the page's path."""
    from faircascade.experiment import save_comparison
    from faircascade.report import write_report

    save_comparison(comparison, folder)
    return write_report(comparison, folder, title=title, notes=notes)


def tell_comparison(comparison: Comparison, page: Path, as_json: bool) -> None:
    """Print a comparison and where its page is; the command ends if it was interrupted."""
    if as_json:
        print_json({"page": str(page), **comparison.document()})
    else:
        print_results(comparison)
    if comparison.interrupted:
        remark(
            f"Stopped early: the results cover {', '.join(comparison.labels)} over "
            f"{counted(len(comparison.seeds), 'seed')} and {comparison.rounds:,} rounds."
        )
    remark(f"Report: {page}")
    if comparison.interrupted:
        raise typer.Exit(STOPPED)
