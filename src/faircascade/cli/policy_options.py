"""Policies and their environments from the command line: --alpha 0.5, --set name=value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from faircascade.errors import ParameterError, UnknownParameterError, suggest
from faircascade.parameters import (
    Parameter,
    parameters_by_name,
    parameters_of,
    parameters_of_function,
)
from faircascade.registry import build, find, from_spec, lookup, validated
from faircascade.settings import Setting, outer_first, part_table, put, underscored

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

ENVIRONMENT_FLAGS = ("click_model", "dynamics", "delay", "world", "click_rate")
"""Options of the environment that have an option of their own."""
_SIMULATE = ("checkpoints", "activity", "realised", "lazy")

Flags = Mapping[str, Any]
"""Values of a command's options by name; None if not given."""
SettingsByPart = dict[str, dict[str, Any]]
"""Values by part (policy, environment, simulate, data) and name."""


@dataclass(frozen=True)
class PartOption:
    """What settings may be for."""

    owner: str
    """How messages call it."""
    parameters: Mapping[str, Parameter]


Known = Mapping[str, PartOption]
"""What settings may be for, by name."""


def changed_policy(
    last: Policy | None, name: str | None, flags: Flags, settings: Sequence[str]
) -> Policy:
    """Return the policy that options ask for: a named one, or else the last one, changed."""
    start = last if name is None else None
    chosen = name or (DEFAULT_POLICY if start is None else start.name)
    given = _sorted(_of_flags(flags, "policy", POLICY_FLAGS), settings, _of_policy(chosen))[
        "policy"
    ]
    kept = (
        {}
        if start is None
        else {p.name: getattr(start, p.name) for p in parameters_of(type(start))}
    )
    if "weight" in given:
        kept.pop("beta", None)  # it was that of another weight
    policy: Policy = build("policy", chosen, {**kept, **given})
    return policy


def sort_settings(settings: Sequence[str], flags: Flags, policy: str, data: str) -> SettingsByPart:
    """Give each `name=value`, and each option of a parameter, to the part that has it.

    `part.name=value` says which part where several have it. `reward=NAME` and
    `reward.parameter=value` (likewise exploration, click_model, ...) build a component.
    """
    first = [
        *_of_flags(flags, "policy", POLICY_FLAGS),
        *_of_flags(flags, "environment", ENVIRONMENT_FLAGS),
    ]
    return _sorted(first, settings, _of_policy(policy) | _of_environment(data), options=flags)


def sort_comparison_settings(
    settings: Sequence[str], flags: Flags, policies: Sequence[str], data: str
) -> tuple[list[Policy], SettingsByPart]:
    """Return the policies of a comparison, and the values for its environment, runs and data.

    Policies are names or `name(parameter=value, ...)`. `alpha=0.5` and `policy.alpha=0.5` are for
    all policies that have the parameter, `ealinucb.alpha=0.5` for those of that name.
    """
    tables = [part_table(text) for text in policies]
    parts = {underscored(table["name"]): _of_policy(table["name"])["policy"] for table in tables}
    every = {name: p for part in parts.values() for name, p in part.parameters.items()}
    around = _of_environment(data)
    known = {"policy": PartOption("the policies", every), **around}
    others = []
    for setting in outer_first(map(Setting.parse, settings)):
        if setting.steps[0] == "policies" and len(setting.steps) > 1:  # as specs have it
            setting = replace(setting, steps=setting.steps[1:])
        owners = parts if setting.steps[0] in parts else known
        owner, *steps = _in_its_part(setting, owners, flags).steps
        if owner in around:
            others.append(setting.text)
        for table in tables:
            name = underscored(table["name"])
            if owner == name or (owner == "policy" and steps[0] in parts[name].parameters):
                list(put(table, tuple(steps), setting.value))
    chosen = [from_spec("policy", table) for table in tables]
    first = _of_flags(flags, "environment", ENVIRONMENT_FLAGS)
    return chosen, _sorted(first, others, around, options=flags)


def typed_settings(settings: Sequence[str], cls: type) -> dict[str, Any]:
    """Return the values of settings for one data set."""
    return _sorted([], settings, _of_data(cls))["data"]


def description_settings(settings: Sequence[str], data: str) -> SettingsByPart:
    """Return the values of settings for a data set and what counts as liked in it."""
    from faircascade.data.tabular import Tabular
    from faircascade.experiment.environment_options import environment_options

    threshold = {"threshold": environment_options()["threshold"]}
    known = {"environment": PartOption("the environment", threshold)}
    return _sorted([], settings, known | _of_data(find("data", data) or Tabular))


def _of_flags(flags: Flags, part: str, names: Iterable[str]) -> list[Setting]:
    return [Setting((part, name), flags[name]) for name in names if flags.get(name) is not None]


def _sorted(
    first: Sequence[Setting], settings: Sequence[str], known: Known, options: Iterable[str] = ()
) -> SettingsByPart:
    """Return values by part; `options` are those that the command has for other things."""
    given: SettingsByPart = {part: {} for part in known}
    first = [_in_its_part(setting, known, options) for setting in first]
    typed = [_in_its_part(Setting.parse(text), known, options) for text in settings]
    flagged = {setting.steps for setting in first}
    for setting in typed:
        if setting.steps in flagged:
            option = f"--{setting.steps[-1].replace('_', '-')}"
            raise ParameterError("--set", f"must not repeat the option {option}", setting.text)
    for setting in outer_first([*first, *typed]):
        list(put(given, setting.steps, setting.value))
    return {
        part: {name: validated(known[part].parameters[name], v) for name, v in values.items()}
        for part, values in given.items()
    }


def _in_its_part(setting: Setting, known: Known, options: Iterable[str]) -> Setting:
    """Return a setting whose path begins with the part that it is for."""
    name, *rest = setting.steps
    if name in known and rest:
        part = known[name]
        if rest[0] not in part.parameters:
            raise UnknownParameterError(rest[0], part.owner, part.parameters)
        return setting
    found = [part for part in known if name in known[part].parameters]
    if len(found) == 1:
        return replace(setting, steps=(found[0], *setting.steps))
    if found:
        choices = " or ".join(f"{part}.{name}" for part in found)
        raise ParameterError("--set", f"must say which {name} is meant: {choices}", setting.text)
    if name in options:
        option = f"--{name.replace('_', '-')}"
        raise ValueError(f"--set {setting.text}: use the option {option}")
    every = sorted({name for part in known.values() for name in part.parameters})
    rule = f"must name one of {', '.join(every)}{suggest(name, every)}"
    raise ParameterError("--set", rule, setting.text)


def _of_policy(policy: str) -> dict[str, PartOption]:
    cls = lookup("policy", policy)
    return {"policy": PartOption(f"policy {cls.name!r}", parameters_by_name(cls))}


def _of_data(cls: type) -> dict[str, PartOption]:
    return {"data": PartOption(f"data set {getattr(cls, 'name', '')!r}", parameters_by_name(cls))}


def _of_environment(data: str) -> dict[str, PartOption]:
    """Return the parameters of all that a policy is simulated with."""
    import faircascade as fc
    from faircascade.data.tabular import Tabular
    from faircascade.experiment.environment_options import environment_options

    environment = {"seed": Parameter("seed", int, 0), **environment_options()}
    simulate = {p.name: p for p in parameters_of_function(fc.simulate) if p.name in _SIMULATE}
    return {
        "environment": PartOption("the environment", environment),
        "simulate": PartOption("simulate", simulate),
        **_of_data(find("data", data) or Tabular),
    }
