"""What policies know of users: parts of the sums that a store keeps of each.

Policies that learn alike can share what is known. What is learned is a sum, so knowledge can also
be branched: a branch adds to numbers of its own, and knows both these and those that it was
branched from, which stay as they were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.policies.composed import ComposedPolicy
from faircascade.registry import from_spec, to_spec
from faircascade.types import Floats, Items, Users


@dataclass(frozen=True, kw_only=True)
class Model:
    """Where it is kept what policies that learn alike know of a user."""

    first: int
    """Where its numbers begin among the sums of a user."""
    size: int
    base: tuple[int, ...] = ()
    """Where the numbers begin that it was branched from."""

    @property
    def end(self) -> int:
        return self.first + self.size

    @property
    def branch_base(self) -> tuple[int, ...]:
        """Where the numbers begin that a branch of it begins with."""
        return (*self.base, self.first)

    def of(self, sums: Floats) -> Floats:
        """Return what it knows of users, (n, size), from all of their sums, (n, s)."""
        places = [slice(first, first + self.size) for first in self.branch_base]
        found = sums[:, places[0]]
        for place in places[1:]:  # its own last, so that those of a new branch change no bit
            found = found + sums[:, place]
        return np.ascontiguousarray(found)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"first": self.first, "size": self.size, "base": list(self.base)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Return what `to_json` was called on."""
        return cls(first=data["first"], size=data["size"], base=tuple(data["base"]))


def learn_alike(one: Policy, other: Policy) -> bool:
    """Say whether feedback teaches both the same."""
    return _learning(one) == _learning(other)


def comparable(one: Policy, other: Policy) -> bool:
    """Say whether the numbers of both mean the same, however each comes by them."""
    if isinstance(one, ComposedPolicy) and isinstance(other, ComposedPolicy):
        return type(one.parts.estimator) is type(other.parts.estimator)
    return type(one) is type(other)


def _learning(policy: Policy) -> Sequence[Any]:
    """Return what decides what a policy learns."""
    if not isinstance(policy, ComposedPolicy):
        return [policy]
    parts = policy.parts
    return [parts.estimator, parts.reward, parts.observation]


def size_of(policy: Policy, items: Items) -> int:
    """Return how many numbers a policy keeps of a user."""
    if policy.unserved:
        raise TypeError(policy.unserved)
    nobody = policy.start(Users(ids=np.empty(0, dtype=str)), policy.dim_of(items))
    return int(policy.sums(nobody).shape[1])


def version_of(policy: Policy) -> str:
    """Return a short text that changes with any parameter of a policy."""
    try:
        spec = json.dumps(to_spec(policy), sort_keys=True)
    except TypeError:  # a parameter is a function
        spec = repr(policy)
    return hashlib.sha256(spec.encode()).hexdigest()[:12]


def plain_spec(policy: Policy) -> Any:
    """Return a policy as plain data, None if it holds a function."""
    try:
        return json.loads(json.dumps(to_spec(policy)))
    except TypeError:
        return None


def read_policy(spec: Any, missing: Policy | None = None) -> Policy:
    """Return the policy of `plain_spec`; `missing` stands for one that holds a function."""
    if spec is None:
        if missing is None:
            raise ValueError("holds a function, which cannot be kept; name the policy again")
        return missing
    policy: Policy = from_spec("policy", spec)
    return policy
