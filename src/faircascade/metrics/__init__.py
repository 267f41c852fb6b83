"""Clicks, regret, exposure and fairness, as functions of mergeable counts."""

from faircascade.metrics.base import ItemMetric, Metric, higher_is_better, title_of
from faircascade.metrics.tally import Over, Record, Tally

__all__ = ["ItemMetric", "Metric", "Over", "Record", "Tally", "higher_is_better", "title_of"]
