"""Clicks, regret, exposure and fairness, as functions of mergeable counts."""

from faircascade.metrics.base import Metric
from faircascade.metrics.tally import Record, Tally

__all__ = ["Metric", "Record", "Tally"]
