"""Where cells run."""

from faircascade.experiment.running.executors.base import Executor, Plan
from faircascade.experiment.running.executors.local import Local

__all__ = ["Executor", "Local", "Plan"]
