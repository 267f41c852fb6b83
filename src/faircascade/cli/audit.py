"""faircascade audit: who got the exposure of a click log."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.data import showing
from faircascade.cli.log_options import LogFile, LogSettings, open_log, with_log_options
from faircascade.cli.options import AsJson
from faircascade.storage import free_folder, results_folder

if TYPE_CHECKING:
    from faircascade.evaluation.audit import Audit, Estimate

_MOST = 10
"""Groups that are printed."""


@with_log_options
def audit(
    log: LogFile,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of items: CSV, TSV or Parquet.")
    ] = None,
    items_id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of ids in the table of items.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="COLUMN", help="Column of groups. May be repeated."),
    ] = None,
    group_sep: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Separator of several groups of an item.")
    ] = None,
    supplier: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that says whose item it is.")
    ] = None,
    merit: Annotated[
        str,
        typer.Option(
            help="What exposure should follow: a column, 'estimated' (clicks) or 'equal'."
        ),
    ] = "estimated",
    popularity: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of popularity; default: clicks per appearance."
        ),
    ] = None,
    periods: Annotated[int, typer.Option(help="Periods of time at most; 0 for none.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page; default: runs/audit.")
    ] = None,
    as_json: AsJson = False,
    *,
    log_settings: LogSettings,
) -> None:
    """Say who got the exposure of a click log, and write a page."""
    import faircascade as fc
    from faircascade.report import write_audit

    opened = open_log(log, log_settings)
    said = opened.notes
    with results_folder(free_folder("audit") if out is None else out) as folder:
        with showing() as report:
            found = fc.audit(
                opened,
                items=items,
                items_id=items_id,
                groups=groups or (),
                supplier=supplier,
                group_sep=group_sep,
                merit=merit,
                popularity=popularity,
                periods=periods,
                progress=report,
            )
        page = write_audit(found, folder)
    if as_json:
        print_json({"page": str(page), **found.to_dict()})
        return
    for note in found.notes:
        if note not in said:
            remark(f"Note: {note}")
    _print(found)
    remark(f"Page: {page}")


def _print(found: Audit) -> None:
    from faircascade.report.audit.words import direction, title

    log = found.log
    typer.echo(
        f"{found.name}: {log.impressions:,} impressions, {log.users:,} users, "
        f"{len(found.items):,} items, {log.clicks:,} clicks"
    )
    typer.echo(found.headline)
    rows = [[title(name), *_cells(each), direction(name)] for name, each in found.metrics.items()]
    print_table(["Metric", "In the log", "95% interval", "Direction"], rows, numbers=True)
    for column, table in found.groups.items():
        shown = table.largest(_MOST)
        more = f" (the {_MOST} largest of {len(table):,})" if len(table) > _MOST else ""
        rows = [
            [
                table.groups[g].strip() or "(none)",
                f"{table.sizes[g]:,}",
                f"{table.share.value[g]:.1%}",
                f"{table.merit_share.value[g]:.1%}",
                *_cells(table.ratio[g]),
            ]
            for g in shown
        ]
        heads = ["Group", "Items", "Exposure", "Merit", "Exposure over merit", "95% interval"]
        print_table(heads, rows, title=f"By {column}{more}", numbers=True)


def _cells(of: Estimate) -> list[str]:
    value = "–" if math.isnan(of.value) else f"{of.value:.4g}"
    return [value, "–" if math.isnan(of.low) else f"{of.low:.4g} to {of.high:.4g}"]
