"""Every published number beside ours, as a tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from faircascade.experiment.study_results import StudyResults
from faircascade.report.data_files import DataFile, given
from faircascade.report.published.comparison import shown


def _rows(studies: Iterable[StudyResults]) -> Iterator[tuple[Any, ...]]:
    """One row for each published number and each policy of ours that is held against it."""
    for study in studies:
        for n in shown(study):
            ours = (n.ours.mean, n.ours.low, n.ours.high, n.ours.seeds, n.rounds)
            study_of = (
                study.name,
                n.environment.data["name"],
                given(study, n.environment),
                n.label,
            )
            known = (*study_of, *n.row, n.metric, n.published)
            yield (*known, *ours, n.difference, n.percent, n.outcome, n.reason)


COMPARISON = DataFile(
    "comparison.csv",
    "Every published number with ours: mean over seeds, 95% interval (low, high), verdict.",
    (
        *(
            "spec",
            "our_data",
            "environment",
            "policy",
            "data",
            "d",
            "k",
            "method",
            "weight",
            "metric",
        ),
        *("published", "ours", "low", "high", "seeds", "rounds", "difference", "percent"),
        *("verdict", "reason"),
    ),
    _rows,
)
