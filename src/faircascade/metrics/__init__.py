"""Clicks, regret, exposure and fairness, as functions of mergeable counts."""

from faircascade.metrics.base import Metric, higher_is_better, title_of
from faircascade.metrics.tally import Record, Tally

__all__ = ["Metric", "Record", "Tally", "higher_is_better", "title_of"]
