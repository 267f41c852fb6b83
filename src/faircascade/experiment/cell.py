"""One cell of an experiment: a policy, a world, a seed; known by the content of its settings."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from faircascade.data.factors import Align, Preferences
from faircascade.data.prepare import Sampling
from faircascade.environment import Environment, ZeroRows
from faircascade.policies import Policy
from faircascade.registry import to_spec

FORMAT = 1
"""Part of every key: a change in what cells hold makes new ones."""

_ENVIRONMENT = {
    name: parameter
    for name, parameter in inspect.signature(Environment.from_ratings).parameters.items()
    if name not in ("ratings", "seed", "click_model")
}
ENVIRONMENT_OPTIONS = {name: str(parameter.annotation) for name, parameter in _ENVIRONMENT.items()}
"""What a world can be asked for, and the type of each."""
CHOICES: dict[str, tuple[str, ...]] = {
    "sampling": get_args(Sampling),
    "zero_rows": get_args(ZeroRows),
    "preferences": get_args(Preferences),
    "align": get_args(Align),
    "merit": ("svd", "popularity", "column"),
}
"""Options that take one of a few words."""
ENVIRONMENT_DEFAULTS = {name: parameter.default for name, parameter in _ENVIRONMENT.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """What is to be run, fully specified."""

    data: Mapping[str, Any]
    """Name, parameters and fingerprint of the ratings."""
    environment: Mapping[str, Any]
    """Options of `Environment.from_ratings`, as far as they were given."""
    policy: Policy
    label: str
    """Of the policy within its experiment; not part of the key."""
    seed: int
    """Of the split and of the run."""
    rounds: int
    checkpoints: tuple[int, ...]

    @property
    def world(self) -> str:
        """Return what tells this cell's world from others: its options, as one line."""
        return json.dumps(dict(self.environment), sort_keys=True)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that decides the result, as plain data, defaults filled in."""
        return {
            "format": FORMAT,
            "data": dict(self.data),
            "environment": ENVIRONMENT_DEFAULTS | dict(self.environment),
            "policy": to_spec(self.policy),
            "seed": self.seed,
            "rounds": self.rounds,
            "checkpoints": list(self.checkpoints),
        }

    @cached_property
    def key(self) -> str:
        """A hash of the settings, 16 hex digits."""
        text = json.dumps(self.settings, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
