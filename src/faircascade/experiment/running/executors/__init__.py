"""Where cells run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from faircascade.errors import ParameterError
from faircascade.experiment.running.executors.base import Executor, Plan
from faircascade.experiment.running.executors.gpu import Gpu
from faircascade.experiment.running.executors.local import Local
from faircascade.experiment.running.executors.ray import Ray
from faircascade.registry import suggest

__all__ = ["Executor", "Gpu", "Local", "Plan", "Ray", "executor_named"]

EXECUTORS: Mapping[str, Callable[..., Executor]] = {"local": Local, "gpu": Gpu, "ray": Ray}


def executor_named(name: str, *, asked_as: str = "executor") -> Callable[..., Executor]:
    """Return the kind of executor that has a name; `asked_as` is how the caller calls that."""
    if name not in EXECUTORS:
        known = ", ".join(EXECUTORS)
        hint = suggest(name, EXECUTORS)
        raise ParameterError(asked_as, f"must be one of {known}{hint}", name)
    return EXECUTORS[name]
