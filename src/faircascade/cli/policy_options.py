"""Policies and their environments from the command line: --alpha 0.5, --set name=value."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from faircascade.registry import (
    Component,
    build,
    check_type,
    components,
    kinds,
    lookup,
    parameters_of,
    suggest,
)

if TYPE_CHECKING:
    from faircascade.policies import Policy

DEFAULT_POLICY = "ealinucb"
POLICY_FLAGS = (
    "weight",
    "beta",
    "gamma",
    "reading",
    "alpha",
    "epsilon",
    "scale",
    "sigma",
    "ridge",
)
"""Parameters of policies that have an option of their own."""

_ENVIRONMENT = (
    "dim",
    "k",
    "seed",
    "users",
    "sampling",
    "threshold",
    "train_share",
    "normalize",
    "zero_rows",
    "preferences",
    "align",
    "merit",
    "merit_floor",
)
_SIMULATE = ("checkpoints", "activity", "realised", "lazy")

Settings = dict[str, dict[str, Any]]
"""Values by part (policy, environment, simulate, data) and name."""


def policy_of(name: str, flags: Mapping[str, Any], others: Mapping[str, Any]) -> Policy:
    """Return the policy that options (those not None, among other things) and settings ask for."""
    given = {flag: flags[flag] for flag in POLICY_FLAGS if flags[flag] is not None}
    policy: Policy = build("policy", name, {**given, **others})
    return policy


def changed_policy(
    last: Policy | None, name: str | None, flags: Mapping[str, Any], settings: Sequence[str]
) -> Policy:
    """Return the policy that options ask for: a named one, or else the last one, changed."""
    if name is not None or last is None:
        name = name or DEFAULT_POLICY
        return policy_of(name, flags, policy_settings(settings, name))
    others = policy_settings(settings, last.name)
    given = {flag: flags[flag] for flag in POLICY_FLAGS if flags[flag] is not None} | others
    kept = {p.name: getattr(last, p.name) for p in parameters_of(type(last))}
    if "weight" in given:
        kept.pop("beta", None)  # it was that of another weight
    policy: Policy = build("policy", last.name, {**kept, **given})
    return policy


def sort_settings(settings: Sequence[str], policy: str, data: str) -> Settings:
    """Give each `name=value` to the part that has a parameter of that name.

    `part.name=value` says which part where several have it. `reward=NAME` and
    `reward.parameter=value` (likewise exploration, estimator) build a component of the policy.
    """
    return _sorted(settings, policy, _of_policy(policy) | _of_environment(data))


def policy_settings(settings: Sequence[str], policy: str) -> dict[str, Any]:
    """Return the values of settings that are all for a policy, nested ones too."""
    return _sorted(settings, policy, _of_policy(policy))["policy"]


def _sorted(
    settings: Sequence[str], policy: str, known: Mapping[str, Mapping[str, str]]
) -> Settings:
    given: Settings = {part: {} for part in known}
    nested: Settings = {}
    for name, value in map(_parse, settings):
        prefix, _, last = name.rpartition(".")
        if prefix in known["policy"] and prefix in kinds():
            nested.setdefault(prefix, {})[last] = value
            continue
        part = _part_of(prefix, last, known)
        check_type(last, known[part][last], value)
        given[part][last] = value
    for kind, parameters in nested.items():
        chosen = given["policy"].get(kind) or _default_of(policy, kind)
        given["policy"][kind] = build(kind, chosen, parameters)
    return given


def typed_settings(settings: Sequence[str], known: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of settings of one part, whose parameters and types are known."""
    values = dict(map(_parse, settings))
    for name, value in values.items():
        if name not in known:
            raise ValueError(_unknown(name, known))
        check_type(name, known[name], value)
    return values


def _part_of(prefix: str, name: str, known: Mapping[str, Mapping[str, str]]) -> str:
    if prefix:
        found = [prefix] if name in known.get(prefix, {}) else []
    else:
        found = [part for part, names in known.items() if name in names]
    if not found:
        every = sorted({name for names in known.values() for name in names})
        raise ValueError(_unknown(f"{prefix}.{name}" if prefix else name, every))
    if len(found) > 1:
        choices = " or ".join(f"{part}.{name}" for part in found)
        raise ValueError(f"--set must say which {name} is meant: {choices}")
    return found[0]


def _unknown(name: str, known: Any) -> str:
    close = suggest(name.rpartition(".")[2], known)
    return f"--set must name one of {', '.join(known)}{close}, got {name!r}"


def _parse(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name:
        raise ValueError(f"--set must be name=value, got {setting!r}")
    return name, parse_value(text)


def parse_value(text: str) -> Any:
    """Read a value as Python would: numbers, True, lists; anything else is text."""
    try:
        return ast.literal_eval(text.strip() or repr(text))
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.lower(), text)


def _default_of(policy: str, kind: str) -> str:
    defaults = {p.name: p.default for p in parameters_of(lookup("policy", policy))}
    return str(defaults[kind].name)


def _of_policy(policy: str) -> dict[str, dict[str, str]]:
    """Return the parameters of a policy and their types."""
    return {"policy": _of_component(lookup("policy", policy))}


def _of_environment(data: str) -> dict[str, dict[str, str]]:
    """Return the parameters of all that a policy is simulated with, and their types."""
    import faircascade as fc
    from faircascade.data.tabular import Tabular

    def of_function(function: Callable[..., Any], names: Sequence[str]) -> dict[str, str]:
        parameters = inspect.signature(function).parameters
        return {name: str(parameters[name].annotation) for name in names}

    return {
        "environment": of_function(fc.Environment.from_ratings, _ENVIRONMENT),
        "simulate": of_function(fc.simulate, _SIMULATE),
        "data": _of_component(components("data").get(data, Tabular)),
    }


def _of_component(cls: type[Component]) -> dict[str, str]:
    return {p.name: p.type for p in parameters_of(cls)}
