"""One cell of an experiment: policy, environment and seed, identified by a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from faircascade.experiment.environment_options import all_options, canonical_options
from faircascade.policies import Policy
from faircascade.registry import Component, find, from_spec, to_spec
from faircascade.registry.own_parts import own_code, own_parts
from faircascade.registry.specs import nested

FORMAT = 4
"""Part of every key: a change in what cells hold makes new ones."""


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
    recorded_key: str = ""
    """What its key was when it was run: parts of one's own may have changed since."""

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
        code = {module: source for part in self.parts for module, source in own_code(part).items()}
        return {
            "format": FORMAT,
            "data": self.fingerprint,
            "environment": canonical_options(self.environment),
            "policy": to_spec(self.policy),
            **({"own_code": code} if code else {}),
            "seed": self.seed,
            "rounds": self.rounds,
            "checkpoints": list(self.checkpoints),
        }

    @cached_property
    def key(self) -> str:
        """A hash of the settings, 16 hex digits."""
        return self.recorded_key or hash_of(self.settings)

    @cached_property
    def environment_key(self) -> str:
        """A hash of what decides the environment: data, options and seed."""
        parts = ("format", "data", "environment", "seed")
        return hash_of({name: self.settings[name] for name in parts})

    @property
    def parts(self) -> Iterator[Component]:
        """Every component: the policy, the parts of the environment, and the parts of those."""
        for part in (*self.policy.made_of, *all_options(self.environment).values()):
            if isinstance(part, Component):
                yield from nested(part)

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


def own_parts_of(cells: Iterable[Cell]) -> list[type[Component]]:
    """Return the classes outside this package that it takes to run cells: parts, data, metrics."""
    own = dict.fromkeys(own_parts())
    needed = {type(part) for cell in cells for part in cell.parts}
    needed |= {cls for cell in cells if (cls := find("data", cell.data.get("name")))}
    return [cls for cls in own if cls in needed or cls.kind == "metric"]


def environment_name(data: Mapping[str, Any], environment: Mapping[str, Any]) -> str:
    """Return data and options of an environment in one line.

    >>> environment_name({"name": "sets/mine.csv", "sep": ";"}, {"dim": 5, "k": 10})
    'mine.csv (sep=;), dim=5 k=10'
    """
    options = " ".join(f"{name}={value}" for name, value in data.items() if name != "name")
    given = " ".join(f"{name}={_shown(value)}" for name, value in environment.items())
    source = Path(str(data.get("name", ""))).name + (f" ({options})" if options else "")
    return ", ".join(filter(None, (source, given)))


def _shown(value: Any) -> Any:
    """Return a table of a part's parameters as people read it."""
    if not isinstance(value, Mapping):
        return value
    inner = ", ".join(f"{name}={_shown(v)}" for name, v in value.items() if name != "name")
    return f"{value.get('name')}({inner})"


def hash_of(settings: Mapping[str, Any]) -> str:
    """Return a hash of plain data, 16 hex digits."""
    text = json.dumps(settings, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
