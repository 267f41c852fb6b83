"""The metrics that the tables of a study leave out: runs keep them all."""

from __future__ import annotations

from faircascade.experiment.stats import Test
from faircascade.experiment.study_results import StudyResults
from faircascade.registry import components
from faircascade.report.blocks import Block, Listing, Notice
from faircascade.report.formatting import metric_terms
from faircascade.report.sections.table import metric_table


def others(study: StudyResults, test: Test = "t") -> list[Block]:
    """The other metrics of all policies, and what they mean."""
    metrics = other_metrics(study)
    if not metrics:
        return [Notice("Not run yet", "No policy is finished.")]
    terms = Listing("What these metrics mean", tuple(metric_terms(metrics)))
    return [*metric_table(study, metrics, test), terms]


def other_metrics(study: StudyResults) -> list[str]:
    """Return the metrics that the runs have and the tables do not."""
    had = dict.fromkeys(name for run in study.runs.values() for name in run.about["metrics"])
    known = components("metric")  # one may have been measured that is not installed here
    return [name for name in had if name in known and name not in study.metrics]


def no_others(study: StudyResults) -> str:
    """Say that there are none, if so."""
    return "" if other_metrics(study) or not study.runs else "there are none"
