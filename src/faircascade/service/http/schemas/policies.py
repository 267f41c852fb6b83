"""Named policies, shadows and the kill switch."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from faircascade.service.lineup import Knowledge
from faircascade.service.messages import Model, example

Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Time = Annotated[str, Field(description="ISO 8601.")]
KillSwitchPolicy = Literal["most-popular", "random"]

_VERSION = {
    "id": "8c1f0e2a9b3d",
    "policy": "ealinucb",
    "label": "EALinUCB log",
    "parameters": {"weight": "log", "gamma": 0.01},
    "since": "2026-11-19T15:40:25.123Z",
    "knowledge": "new",
    "model": 0,
    "current": True,
}
_POLICY = {
    "name": "default",
    "version": "8c1f0e2a9b3d",
    "shadow_share": 0.0,
    "experiment": None,
    "versions": [_VERSION],
}


class ServedVersion(Model):
    id: str = Field(description="Changes with any parameter, and with what it knows.")
    policy: str = Field(description="The recipe, as on the command line.")
    label: str = Field(description="As in tables and figures.")
    parameters: dict[str, Any] = Field(description="Those of its parts have dotted names.")
    since: Time
    knowledge: Knowledge = Field(
        description="How it began to know users: `shared` with the version before, `branched` from "
        "what that knew, or `new`."
    )
    model: int | None = Field(
        description="Where what it knows is kept: versions with the same number share that; null "
        "if it needs to know nothing."
    )
    current: bool = Field(description="Whether it is the one that is served.")


class NamedPolicy(Model):
    model_config = example(_POLICY)
    name: str
    version: str = Field(description="The version that is served.")
    shadow_share: float = Field(description="Share of users for whom it ranks without being shown.")
    experiment: float | None = Field(
        description="Its share in the experiment, null if it is not an arm of one."
    )
    versions: list[ServedVersion] = Field(description="Oldest first.")


class Change(Model):
    time: Time
    text: str = Field(description="What an operator did.")


class KillSwitch(Model):
    model_config = example({"policy": "most-popular"}, {"policy": None})
    policy: KillSwitchPolicy | None = Field(
        description="What everybody is served, whatever else is said; null if the switch is off."
    )


class Lineup(Model):
    """All that is served, and what operators changed."""

    model_config = example(
        {
            "number": 1,
            "kill_switch": None,
            "experiment": None,
            "policies": [_POLICY],
            "numbers_per_user": 66,
            "most_numbers_per_user": 20_000,
            "may_change": True,
            "changes": [{"time": "2026-11-19T15:40:25.123Z", "text": "default is EALinUCB log"}],
        }
    )
    number: int = Field(description="Grows with every change.")
    kill_switch: KillSwitchPolicy | None = Field(
        description="What everybody is served; null if the kill switch is off."
    )
    experiment: str | None = Field(description="The experiment that runs or is stopped.")
    policies: list[NamedPolicy] = Field(
        description="The first is `default`, which is served to everybody outside of experiments."
    )
    numbers_per_user: int = Field(description="What is kept of a user for all policies together.")
    most_numbers_per_user: int = Field(
        description="A change that would need more is refused; those of removed policies count."
    )
    may_change: bool = Field(description="Whether the key of this request may change any of it.")
    changes: list[Change] = Field(description="The last 100, oldest first.")


class PolicyBody(Model):
    model_config = example(
        {"policy": "ealinucb", "parameters": {"weight": "log", "gamma": 0.01}},
        {"policy": "linucb", "parameters": {"reranker": {"name": "fairco"}}, "knowledge": "new"},
    )
    policy: str = Field(
        min_length=1, max_length=100, description="A recipe, as `--policy` names it."
    )
    parameters: dict[str, Any] = Field(
        default={}, description="As in spec files: parts are names, or objects with a `name`."
    )
    knowledge: Knowledge | None = Field(
        default=None,
        description="`shared`: goes on with what the version before knows of users, and teaches "
        "it. `branched`: begins with that and learns by itself. `new`: knows nothing. Left out: "
        "the first of these that is right. A new name follows `default`.",
    )


class VersionBody(Model):
    model_config = example({"version": "8c1f0e2a9b3d"})
    version: str = Field(
        min_length=1, max_length=100, description="One that the name had, or another name has."
    )


class ShadowBody(Model):
    model_config = example({"share": 0.1}, {"share": 0})
    share: Share = Field(description="Share of users for whom it ranks as well; 0 for none.")


class ShadowExposure(Model):
    equality_b: float | None = Field(description="1 - Gini of appearances; null if unknown.")
    equality_p: float | None = Field(description="The same weighed by position.")


class Shadow(Model):
    """What a policy would have shown, next to what was shown in its place."""

    model_config = example(
        {
            "share": 0.1,
            "slates": 1200,
            "common": 0.7,
            "shown": {"equality_b": 0.31, "equality_p": 0.28},
            "shadow": {"equality_b": 0.52, "equality_p": 0.47},
        }
    )
    share: float = Field(description="Share of users for whom it ranks.")
    slates: int = Field(description="Slates that its present version ranked.")
    common: float | None = Field(
        description="Share of the items of its slates that were shown in them, at any position."
    )
    shown: ShadowExposure = Field(description="Of the slates that users got.")
    shadow: ShadowExposure = Field(description="Of the slates that they would have got.")
