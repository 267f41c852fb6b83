"""Click models fitted to logs."""

from faircascade.fitting.click_counts import ClickCounts
from faircascade.fitting.fit import fit_click_model
from faircascade.fitting.fitted import Candidate, FittedClickModel

__all__ = ["Candidate", "ClickCounts", "FittedClickModel", "fit_click_model"]
