"""Online experiments: who gets which policy, and what may be said of it at any time."""

from faircascade.service.experiments.assignment import Arm, Assignment, Holdout, check_independent

__all__ = ["Arm", "Assignment", "Holdout", "check_independent"]
