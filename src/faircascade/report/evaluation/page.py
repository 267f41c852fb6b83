"""Writes the page of an evaluation, its figures and its table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from faircascade.evaluation.results import Evaluation
from faircascade.report.evaluation.sections import sections
from faircascade.report.log_page import LogPage
from faircascade.version import __version__

READING = (
    "A log shows what users did with the slates of one policy. Slates that another policy would "
    "have shown more often count more, those that it would have shown less often count less: the "
    "weighted clicks estimate what it would have got. Each estimator assumes something about users "
    "and has weights that are spread more or less; intervals are over blocks of users."
)
_TERMS = (
    ("Clicks per slate", "Clicks on a slate, on average. Higher is better."),
    ("Equality (B), Equality (P)", "1 - Gini of the exposure of items; 1 if all have the same."),
    (
        "Effective impressions",
        "How many impressions of the policy itself would say as much as the weighted log does.",
    ),
    (
        "Could be shown",
        "Share of what the policy would show that the log could show, by its mean weight. Below "
        "100% something is missing; above, it is chance.",
    ),
)


def write_evaluation(
    evaluation: Evaluation, folder: str | Path | None = None, *, title: str | None = None
) -> Path:
    """Write `evaluation.html`, `evaluation.md`, `figures/` and `estimates.csv` of an evaluation.

    The page needs nothing beside it. Without a folder, `runs/evaluation` is taken, or
    `runs/evaluation-2` and so on if there is something in it, and which is printed. Returns the
    page's path.
    """
    page = LogPage(
        name="evaluation",
        title=title or f"What other policies would have got in {evaluation.log}",
        notes=evaluation.notes,
        facts=_facts(evaluation),
        reading=READING,
        terms=_TERMS,
        tables={"estimates.csv": ("Every estimate with its interval.", _table(evaluation))},
    )
    return page.write(lambda: sections(evaluation), folder)


def _facts(found: Evaluation) -> Iterator[tuple[str, str]]:
    yield "Log", found.log
    yield "Impressions", f"{found.impressions:,} evaluated"
    yield "Users", f"{found.users:,}"
    yield "Items", f"{found.items:,}"
    yield "Positions", f"{found.k:,}"
    yield "Clicks per slate", f"{found.clicks:.4f}"
    yield "Intervals", f"{100 * found.level:g}%, over blocks of users"
    yield "Precision asked for", f"±{100 * found.precision:g}%"
    yield "Version", f"faircascade {__version__}"


def _table(found: Evaluation) -> str:
    """Return all estimates as CSV."""
    names = ("value", "low", "high", "difference", "difference_low", "difference_high")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("policy", "what", "estimator", *names, "note"))
    for policy in found.policies:
        for one in policy.estimates:
            cells = [getattr(one, name) for name in names]
            writer.writerow((policy.label, "clicks", one.name, *map(_cell, cells), one.why_not))
        for other in policy.equality:
            cells = [getattr(other, name) for name in names]
            writer.writerow((policy.label, other.metric, "", *map(_cell, cells), other.how))
    return text.getvalue()


def _cell(value: float) -> str:
    return "" if value != value else f"{value:.10g}"
