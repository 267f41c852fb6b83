"""Comparisons of policies: what to run, and what came out."""

from faircascade.experiment.comparison import Comparison, compare
from faircascade.experiment.store import save_comparison

__all__ = ["Comparison", "compare", "save_comparison"]
