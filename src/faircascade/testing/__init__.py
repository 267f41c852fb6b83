"""Contract checks, for authors of parts: an `AssertionError` says what a part does wrong.

>>> from faircascade.clicks import Cascade
>>> check_click_model(Cascade())
"""

from typing import Any

from faircascade.testing.data import check_dataset, check_metric
from faircascade.testing.environments import small_environment
from faircascade.testing.parts import (
    check_click_model,
    check_component,
    check_delay,
    check_dynamics,
    check_observation,
    check_reward_model,
)
from faircascade.testing.policies import (
    check_estimator,
    check_exploration,
    check_policy,
    check_reranker,
)

__all__ = [
    "check_click_model",
    "check_component",
    "check_dataset",
    "check_delay",
    "check_dynamics",
    "check_estimator",
    "check_exploration",
    "check_metric",
    "check_observation",
    "check_policy",
    "check_reranker",
    "check_reward_model",
    "check_store",
    "small_environment",
]


def __getattr__(name: str) -> Any:
    """Import the check of stores on first use: it needs the extra `serve`."""
    if name == "check_store":
        from faircascade.testing.stores import check_store

        return check_store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
