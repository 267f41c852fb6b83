"""Metrics whose figures would look the same: exposure by appearance (B) and by position (P)."""

from __future__ import annotations

from collections.abc import Sequence

from faircascade.experiment.study_results import EnvironmentResults
from faircascade.report.formatting import listed, title

_CLOSE = 0.05
"""Changes against the baseline that differ by less than this share of it look the same."""


def without_twins(environment: EnvironmentResults, metrics: Sequence[str]) -> list[str]:
    """Return metrics without those by position that change as their twins by appearance do."""
    return [m for m in metrics if not (_twin(m) in metrics and _alike(environment, m, _twin(m)))]


def left_out_words(environment: EnvironmentResults, metrics: Sequence[str]) -> str:
    """Say which metrics are not drawn; nothing if all are."""
    kept = without_twins(environment, metrics)
    gone = [f"{title(m)} looks like {title(_twin(m))}" for m in metrics if m not in kept]
    return f" Not drawn, but in the tables: {listed(gone)}." if gone else ""


def _twin(metric: str) -> str:
    """Return the metric by appearance of one by position; nothing for others."""
    return f"{metric.removesuffix('_p')}_b" if metric.endswith("_p") else ""


def _alike(environment: EnvironmentResults, metric: str, twin: str) -> bool:
    """Say whether all policies change alike in both; without a baseline, nobody knows."""
    if not environment.runs[environment.baseline]:
        return False
    return all(
        abs(_ratio(environment, label, metric) - _ratio(environment, label, twin)) < _CLOSE
        for label in environment.comparable
    )


def _ratio(environment: EnvironmentResults, label: str, metric: str) -> float:
    own, other = environment.paired(label, metric)
    whole = float(other.sum())
    return float(own.sum()) / whole if whole else float("nan")
