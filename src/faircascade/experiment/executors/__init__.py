"""Where cells run."""

from faircascade.experiment.executors.base import Executor, Plan
from faircascade.experiment.executors.local import Local

__all__ = ["Executor", "Local", "Plan"]
