"""Policies and their environments from the command line: --alpha 0.5, --set name=value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from faircascade.errors import ParameterError, suggest
from faircascade.parameters import Parameter, parameters_of, parameters_of_function
from faircascade.registry import build, components, lookup, validated

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

ENVIRONMENT_FLAGS = ("click_model", "dynamics", "delay")
"""Parts of the environment that have an option of their own."""
_SIMULATE = ("checkpoints", "activity", "realised", "lazy")

SettingsByPart = dict[str, dict[str, Any]]
"""Values by part (policy, environment, simulate, data) and name."""
Known = Mapping[str, Mapping[str, Parameter]]
"""Parameters by part and name."""


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


def sort_settings(settings: Sequence[str], policy: str, data: str) -> SettingsByPart:
    """Give each `name=value` to the part that has a parameter of that name.

    `part.name=value` says which part where several have it. `reward=NAME` and
    `reward.parameter=value` (likewise exploration, click_model, ...) build a component.
    """
    return _sorted(settings, _of_policy(policy) | _of_environment(data))


def policy_settings(settings: Sequence[str], policy: str) -> dict[str, Any]:
    """Return the values of settings that are all for a policy, nested ones too."""
    return _sorted(settings, _of_policy(policy))["policy"]


def _sorted(settings: Sequence[str], known: Known) -> SettingsByPart:
    given: SettingsByPart = {part: {} for part in known}
    inside: dict[tuple[str, str], dict[str, Any]] = {}
    for name, value in map(_parse, settings):
        prefix, _, last = name.rpartition(".")
        owner = next((p for p in known if prefix in known[p] and known[p][prefix].kind), None)
        if owner is None:
            given[_part_of(prefix, last, known)][last] = value
        else:
            inside.setdefault((owner, prefix), {})[last] = value
    for (part, name), values in inside.items():
        chosen = given[part].get(name, known[part][name].default)
        given[part][name] = {"name": getattr(chosen, "name", chosen), **values}
    return {
        part: {name: validated(known[part][name], value) for name, value in values.items()}
        for part, values in given.items()
    }


def typed_settings(settings: Sequence[str], known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the values of settings of one part, whose parameters are known."""
    values = dict(map(_parse, settings))
    for name in values:
        if name not in known:
            raise ParameterError("--set", _one_of(name, known), name)
    return {name: validated(known[name], value) for name, value in values.items()}


def _part_of(prefix: str, name: str, known: Known) -> str:
    if prefix:
        found = [prefix] if name in known.get(prefix, {}) else []
    else:
        found = [part for part, names in known.items() if name in names]
    if not found:
        every = sorted({name for names in known.values() for name in names})
        given = f"{prefix}.{name}" if prefix else name
        raise ParameterError("--set", _one_of(given, every), given)
    if len(found) > 1:
        choices = " or ".join(f"{part}.{name}" for part in found)
        raise ParameterError("--set", f"must say which {name} is meant: {choices}", name)
    return found[0]


def _one_of(name: str, known: Iterable[str]) -> str:
    close = suggest(name.rpartition(".")[2], known)
    return f"must name one of {', '.join(known)}{close}"


def _parse(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name:
        raise ParameterError("--set", "must be name=value", setting)
    return name, parse_value(text)


def parse_value(text: str) -> Any:
    """Read a value as Python would: numbers, True, lists; anything else is text."""
    try:
        return ast.literal_eval(text.strip() or repr(text))
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.lower(), text)


def _of_policy(policy: str) -> dict[str, dict[str, Parameter]]:
    return {"policy": _by_name(parameters_of(lookup("policy", policy)))}


def _of_environment(data: str) -> dict[str, dict[str, Parameter]]:
    """Return the parameters of all that a policy is simulated with."""
    import faircascade as fc
    from faircascade.data.tabular import Tabular
    from faircascade.experiment.environment_options import environment_options

    simulate = _by_name(parameters_of_function(fc.simulate))
    return {
        "environment": {"seed": Parameter("seed", int, 0), **environment_options()},
        "simulate": {name: simulate[name] for name in _SIMULATE},
        "data": _by_name(parameters_of(components("data").get(data, Tabular))),
    }


def _by_name(parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in parameters}
