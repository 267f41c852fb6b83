"""Where cells run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from faircascade.errors import check_choice
from faircascade.experiment.running.executors.base import Executor, Plan
from faircascade.experiment.running.executors.gpu import Gpu
from faircascade.experiment.running.executors.local import Local
from faircascade.experiment.running.executors.ray import Ray

__all__ = ["Executor", "Gpu", "Local", "Plan", "Ray", "executor_named"]

EXECUTORS: Mapping[str, Callable[..., Executor]] = {"local": Local, "gpu": Gpu, "ray": Ray}


def executor_named(name: str, *, asked_as: str = "executor") -> Callable[..., Executor]:
    """Return the kind of executor that has a name; `asked_as` is how the caller calls that."""
    check_choice(asked_as, name, EXECUTORS)
    return EXECUTORS[name]
