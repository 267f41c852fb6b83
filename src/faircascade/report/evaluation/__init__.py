"""The page of an evaluation of policies from a log."""

from faircascade.report.evaluation.page import write_evaluation

__all__ = ["write_evaluation"]
