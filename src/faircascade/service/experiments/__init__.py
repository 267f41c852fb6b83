"""Online experiments: who gets which policy, and what may be said of it at any time."""

from faircascade.service.experiments.assignment import Arm, Assignment, Holdout, check_independent
from faircascade.service.experiments.counts import ArmCounts, block_of
from faircascade.service.experiments.record import Period, Record
from faircascade.service.experiments.summary import Monitor

__all__ = [
    "Arm",
    "ArmCounts",
    "Assignment",
    "Holdout",
    "Monitor",
    "Period",
    "Record",
    "block_of",
    "check_independent",
]
