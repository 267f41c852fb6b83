"""Where cells run."""

from __future__ import annotations

from typing import Any

from faircascade.experiment.running.executors.base import Executor, Plan
from faircascade.experiment.running.executors.local import Local
from faircascade.registry import suggest

__all__ = ["EXECUTORS", "Executor", "Local", "Plan", "executor_of"]

EXECUTORS = ("local", "gpu", "ray")


def executor_of(name: str, **options: Any) -> Executor:
    """Return an executor by its name."""
    if name == "local":
        return Local(**options)
    if name == "gpu":
        from faircascade.experiment.running.executors.gpu import Gpu

        return Gpu(**options)
    if name == "ray":
        from faircascade.experiment.running.executors.ray import Ray

        return Ray(**options)
    known = ", ".join(EXECUTORS)
    raise ValueError(f"executor must be one of {known}{suggest(name, EXECUTORS)}, got {name!r}")
