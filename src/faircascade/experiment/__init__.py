"""Comparisons of policies: what to run, and what came out."""

from faircascade.experiment.comparison import Comparison, compare
from faircascade.experiment.running.runner import run_experiment
from faircascade.experiment.store.tables import load_results, save_comparison

__all__ = ["Comparison", "compare", "load_results", "run_experiment", "save_comparison"]
