"""One cell of an experiment: policy, environment and seed, identified by a hash."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from faircascade.data.factors import Align, Preferences
from faircascade.data.prepare import Sampling
from faircascade.environment import Environment, ZeroRows
from faircascade.policies import Policy
from faircascade.registry import Component, from_spec, parameters_of, to_spec

FORMAT = 2
"""Part of every key: a change in what cells hold makes new ones."""

_ENVIRONMENT = {
    name: parameter
    for name, parameter in inspect.signature(Environment.from_ratings).parameters.items()
    if name not in ("ratings", "seed", "click_model")
}
ENVIRONMENT_OPTIONS = {name: str(parameter.annotation) for name, parameter in _ENVIRONMENT.items()}
"""What an environment can be asked for, and the type of each."""
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
    """Name and options of the data, as the spec has them; not part of the key."""
    fingerprint: str
    """Of the ratings: what they are, wherever they came from."""
    environment: Mapping[str, Any]
    """Options of `Environment.from_ratings`, as far as they were given."""
    policy: Policy
    label: str
    """Of the policy within its experiment; not part of the key."""
    seed: int
    """Of the split and of the run."""
    rounds: int
    checkpoints: tuple[int, ...]

    @cached_property
    def environment_id(self) -> str:
        """What tells this cell's environment from others, whatever the seed: a line of JSON."""
        return json.dumps({"data": dict(self.data), "given": dict(self.environment)})

    @property
    def name(self) -> str:
        """Return what to call it in messages."""
        return f"{self.label}, seed {self.seed}, {environment_name(self.data, self.environment)}"

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that decides the result, as plain data, defaults filled in."""
        return {
            "format": FORMAT,
            "data": self.fingerprint,
            "environment": {
                name: _as(ENVIRONMENT_OPTIONS[name], value)
                for name, value in (ENVIRONMENT_DEFAULTS | dict(self.environment)).items()
            },
            "policy": _typed(self.policy),
            "seed": self.seed,
            "rounds": self.rounds,
            "checkpoints": list(self.checkpoints),
        }

    @cached_property
    def key(self) -> str:
        """A hash of the settings, 16 hex digits."""
        return hash_of(self.settings)

    @cached_property
    def environment_key(self) -> str:
        """A hash of what decides the environment: data, options and seed."""
        parts = ("format", "data", "environment", "seed")
        return hash_of({name: self.settings[name] for name in parts})

    def document(self) -> dict[str, Any]:
        """Return the cell as plain data, which `of` reads."""
        return {
            "data": dict(self.data),
            "fingerprint": self.fingerprint,
            "environment": dict(self.environment),
            "policy": to_spec(self.policy),
            "label": self.label,
            "seed": self.seed,
            "rounds": self.rounds,
            "checkpoints": list(self.checkpoints),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Cell:
        """Build a cell from plain data."""
        policy = from_spec("policy", document["policy"])
        checkpoints = tuple(document["checkpoints"])
        return cls(**{**document, "policy": policy, "checkpoints": checkpoints})


def environment_name(data: Mapping[str, Any], environment: Mapping[str, Any]) -> str:
    """Return data and options of an environment in one line.

    >>> environment_name({"name": "sets/mine.csv", "sep": ";"}, {"dim": 5, "k": 10})
    'mine.csv (sep=;), dim=5 k=10'
    """
    options = " ".join(f"{name}={value}" for name, value in data.items() if name != "name")
    given = " ".join(f"{name}={value}" for name, value in environment.items())
    source = Path(str(data.get("name", ""))).name + (f" ({options})" if options else "")
    return ", ".join(filter(None, (source, given)))


def _typed(component: Component) -> dict[str, Any]:
    """Return a component as plain data in which 1 and 1.0 are the same where a float is meant."""
    spec = to_spec(component)
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        if isinstance(value, Component):
            spec[parameter.name] = _typed(value)
        elif parameter.name in spec:
            spec[parameter.name] = _as(parameter.type, spec[parameter.name])
    return spec


def _as(annotation: str, value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and annotation.split(" | ")[0] == "float" else value


def hash_of(settings: Mapping[str, Any]) -> str:
    """Return a hash of plain data, 16 hex digits."""
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
