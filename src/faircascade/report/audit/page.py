"""Writes the page of an audit, its figures and its tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from faircascade.evaluation.audit import Audit
from faircascade.evaluation.audit.tables import rows
from faircascade.report.audit.sections import sections
from faircascade.report.audit.words import READING, direction, meaning, merit_words, title
from faircascade.report.log_page import LogPage
from faircascade.version import __version__


def write_audit(
    audit: Audit, folder: str | Path | None = None, *, title: str | None = None
) -> Path:
    """Write `audit.html`, `audit.md`, `figures/` and tables (CSV) of an audit.

    The page needs nothing beside it. Without a folder, `runs/audit` is taken, or `runs/audit-2`
    and so on if there is something in it, and which is printed. Returns the page's path.
    """
    page = LogPage(
        name="audit",
        title=title or f"Who got the exposure of {audit.name}",
        notes=audit.notes,
        facts=_facts(audit),
        reading=READING,
        terms=_terms(audit),
        tables={name: (about, _csv(table)) for name, about, table in _tables(audit)},
    )
    return page.write(lambda: sections(audit), folder)


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    log = audit.log
    yield "Log", audit.name
    yield "Impressions", f"{log.impressions:,}"
    yield "Users", f"{log.users:,}, in {audit.blocks} blocks"
    yield "Items", f"{len(audit.items):,}"
    yield "Positions", f"{log.k:,}"
    yield "Clicks", f"{log.clicks:,}"
    yield "Merit", merit_words(audit)
    yield "Version", f"faircascade {__version__}"


def _terms(audit: Audit) -> Iterator[tuple[str, str]]:
    names = [*audit.metrics, *(name for table in audit.groups.values() for name in table.metrics)]
    for name in dict.fromkeys(names):
        yield title(name), f"{meaning(name)} {direction(name).capitalize()}."


def _tables(audit: Audit) -> Iterator[tuple[str, str, Iterable[dict[str, Any]]]]:
    """Yield the files beside the page: name, contents in words, rows."""
    yield "metrics.csv", "Every metric with its interval.", _metric_rows(audit)
    yield "items.csv", "Every item: what it got, and what its merit asks for.", rows(audit.items)
    if audit.groups:
        yield "groups.csv", "Every group of items, by column.", _group_rows(audit)
    yield "positions.csv", "Every position.", rows(audit.positions)
    if audit.periods is not None:
        yield "periods.csv", "Every period.", rows(audit.periods)


def _metric_rows(audit: Audit) -> Iterator[dict[str, Any]]:
    for name, found in audit.metrics.items():
        yield {"over": "items", "metric": name, **found.to_dict()}
    for column, table in audit.groups.items():
        for name, found in table.metrics.items():
            yield {"over": column, "metric": name, **found.to_dict()}


def _group_rows(audit: Audit) -> Iterator[dict[str, Any]]:
    for column, table in audit.groups.items():
        for row in rows(table):
            yield {"column": column, **row}


def _csv(table: Iterable[dict[str, Any]]) -> str:
    text, writer = io.StringIO(), None
    for row in table:
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: "" if value is None else value for name, value in row.items()})
    return text.getvalue()
