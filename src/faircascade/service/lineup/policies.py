"""Policies under names, each with the versions that it has had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from faircascade.policies import Policy
from faircascade.service.lineup.models import plain_spec, read_policy, version_of


@dataclass(frozen=True, kw_only=True)
class PolicyVersion:
    """A policy, and the model that it ranks by."""

    policy: Policy
    model: int | None
    """Number of its model in the lineup; None if it needs none."""
    since: float
    """When it became the version of its name last, seconds since 1970."""

    @cached_property
    def id(self) -> str:
        """A short text that changes with any parameter of the policy, and with its model."""
        return version_of(self.policy)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"policy": plain_spec(self.policy), "model": self.model, "since": self.since}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], missing: Policy | None = None) -> PolicyVersion:
        """Return what `to_json` was called on."""
        policy = read_policy(data["policy"], missing)
        return cls(policy=policy, model=data["model"], since=data["since"])


@dataclass(frozen=True, kw_only=True)
class NamedPolicy:
    """What is served under a name: the last of its versions that was chosen."""

    name: str
    versions: tuple[PolicyVersion, ...]
    """Oldest first."""
    chosen: int

    @property
    def current(self) -> PolicyVersion:
        """The version that is served."""
        return self.versions[self.chosen]

    @property
    def taught(self) -> int | None:
        """The model that feedback teaches: its own, or the last one if it needs none."""
        models = [self.versions[n].model for n in (self.chosen, *range(self.chosen - 1, -1, -1))]
        return next((model for model in models if model is not None), None)

    def with_version(self, version: PolicyVersion) -> NamedPolicy:
        """Return it with another version in force."""
        versions = (*self.versions, version)
        return replace(self, versions=versions, chosen=len(versions) - 1)

    def back_to(self, place: int, now: float) -> NamedPolicy:
        """Return it with an earlier version in force again."""
        versions = list(self.versions)
        versions[place] = replace(versions[place], since=now)
        return replace(self, versions=tuple(versions), chosen=place)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        versions = [version.to_json() for version in self.versions]
        return {"name": self.name, "versions": versions, "chosen": self.chosen}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], missing: Policy | None = None) -> NamedPolicy:
        """Return what `to_json` was called on."""
        versions = tuple(PolicyVersion.from_json(one, missing) for one in data["versions"])
        return cls(name=data["name"], versions=versions, chosen=data["chosen"])
