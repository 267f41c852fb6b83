"""Policies under names, each with the versions that it has had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from faircascade.policies import Policy
from faircascade.service.lineup.models import plain_spec, read_policy, version_of

Knowledge = Literal["shared", "branched", "new"]
"""What a new version knows: `shared` goes on with the model of the one before, `branched` begins
with what that knows now and learns by itself, `new` knows nothing."""


@dataclass(frozen=True, kw_only=True)
class PolicyVersion:
    """A policy, and the model that it ranks by."""

    policy: Policy
    model: int | None
    """Number of its model in the lineup; None if it needs none."""
    since: float
    """When it became the version of its name last, seconds since 1970."""
    knowledge: Knowledge = "new"
    """How it began to know users."""
    copy: int = 1
    """Tells it from versions with the same policy that know other things."""

    @cached_property
    def id(self) -> str:
        """A short text that changes with any parameter of the policy, and with what it knows."""
        return f"{version_of(self.policy)}{f'-{self.copy}' if self.copy > 1 else ''}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "policy": plain_spec(self.policy),
            "model": self.model,
            "since": self.since,
            "knowledge": self.knowledge,
            "copy": self.copy,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], missing: Policy | None = None) -> PolicyVersion:
        """Return what `to_json` was called on."""
        return cls(**{**data, "policy": read_policy(data["policy"], missing)})


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
    def learner(self) -> PolicyVersion | None:
        """The version that learns from feedback: the one that is served, or the last one before
        that learns anything."""
        before = reversed(self.versions[: self.chosen + 1])
        return next((version for version in before if version.model is not None), None)

    @property
    def taught(self) -> int | None:
        """The model that feedback teaches."""
        return None if self.learner is None else self.learner.model

    @property
    def before(self) -> PolicyVersion | None:
        """The version before the one that is served, if there was one."""
        return self.versions[self.chosen - 1] if self.chosen else None

    def with_version(self, version: PolicyVersion) -> NamedPolicy:
        """Return it with another version in force, the last one; it may have been there before."""
        others = [one for one in self.versions if one.id != version.id]
        return replace(self, versions=(*others, version), chosen=len(others))

    def without_oldest(self) -> NamedPolicy:
        """Return it without its oldest version; a later one is served."""
        return replace(self, versions=self.versions[1:], chosen=self.chosen - 1)

    def with_chosen(self, id: str, now: float) -> NamedPolicy:
        """Return it with another of its versions in force."""
        versions = list(self.versions)
        place = [version.id for version in versions].index(id)
        versions[place] = replace(versions[place], since=now)
        return replace(self, versions=tuple(versions), chosen=place)

    def with_models(self, places: Mapping[int, int]) -> NamedPolicy:
        """Return it with other models in the place of some."""
        versions = tuple(
            replace(one, model=None if one.model is None else places.get(one.model, one.model))
            for one in self.versions
        )
        return replace(self, versions=versions)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        versions = [version.to_json() for version in self.versions]
        return {"name": self.name, "versions": versions, "chosen": self.chosen}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], missing: Policy | None = None) -> NamedPolicy:
        """Return what `to_json` was called on."""
        versions = tuple(PolicyVersion.from_json(one, missing) for one in data["versions"])
        return cls(name=data["name"], versions=versions, chosen=data["chosen"])
