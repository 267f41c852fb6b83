"""The page that sets studies beside the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from faircascade.experiment.study_results import StudyResults
from faircascade.report.data_files import CURVES, RESULTS
from faircascade.report.page_writer import PageHeader, write_under
from faircascade.report.published.data_files import COMPARISON
from faircascade.report.published.summary import not_the_papers_data

TITLE = "Exposure-aware cascading bandits: a reproduction"


def write_reproduction(
    studies: Sequence[StudyResults],
    folder: str | Path,
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write `reproduction.html`, `reproduction.md`, `figures/` and three tables into a folder.

    It is the page of `write_report` under the paper's title: data that the paper did not use is
    named as such before any number, and `comparison.csv` holds ours against the published ones.
    """
    cover = PageHeader(
        name="reproduction",
        title=title or TITLE,
        notes=list(notes),
        notices=not_the_papers_data(studies),
        tables=[RESULTS, CURVES, COMPARISON],
    )
    return write_under(cover, studies, folder)
