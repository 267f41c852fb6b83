"""A policy of which some parameters are searched: which values it can have, and as what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from faircascade.experiment.spec.checks import check_known, check_policy
from faircascade.experiment.spec.errors import at
from faircascade.experiment.spec.policies import OF_THE_RUN
from faircascade.experiment.tuning.ranges import Range, is_range, read_range
from faircascade.policies import Policy
from faircascade.registry import Component, from_spec, parameters_of, to_spec

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a search may make of a policy."""

    written: Mapping[str, Any]
    """The policy as the spec has it."""
    ranges: Mapping[str, Range]
    """By the dotted name of the parameter. Names come before numbers, as they decide which of
    those there are: the weight "log" has no beta."""
    environment: Mapping[str, Any]

    @classmethod
    def of(
        cls, written: Mapping[str, Any], searched: Mapping[str, Any], environment: Mapping[str, Any]
    ) -> Candidates:
        """Read the table of what is searched."""
        found = dict(_ranges(searched, policy_of(written)))
        ranges = sorted(found.items(), key=lambda pair: pair[1].is_numeric)
        candidates = cls(written, dict(ranges), environment)
        candidates.check()
        return candidates

    @cached_property
    def start(self) -> dict[str, Any]:
        """The values as written, or the policy's own where nothing is."""
        policy = policy_of(self.written)
        found = {name: _value(policy, name) for name in self.ranges}
        return {name: value for name, value in found.items() if value is not None}

    def has(self, values: Mapping[str, Any]) -> bool:
        """Say whether a search could come upon some values."""
        wanted = {name for name in self.ranges if self._goes_with(name, values)}
        return set(values) == wanted and all(self.ranges[n].has(v) for n, v in values.items())

    def told(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values as Optuna knows them."""
        return {name: self.ranges[name].told(value) for name, value in values.items()}

    def propose(self, trial: optuna.Trial) -> dict[str, Any]:
        """Ask Optuna for values; numbers that do not go with the names are left out."""
        values: dict[str, Any] = {}
        for name, tried in self.ranges.items():
            if self._goes_with(name, values):
                values[name] = tried.suggest(trial, name)
        return values

    def entry(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the policy as a spec has it, with some values and without the others searched."""
        entry, policy = dict(self.written), policy_of(self.written)
        for name in self.ranges:
            _put(entry, policy, name.split("."), values.get(name))
        return entry

    def check(self) -> None:
        """Refuse values that the policy cannot have, whatever the names are."""
        names = {name: tried.samples for name, tried in self.ranges.items() if self._decides(name)}
        combined = [dict(zip(names, chosen, strict=True)) for chosen in product(*names.values())]
        for name, tried in self.ranges.items():
            fitting = [chosen for chosen in combined if self._goes_with(name, chosen)] or combined
            for value in tried.samples:
                refused = [self._refused({**chosen, name: value}) for chosen in fitting]
                if all(refused):
                    with at(*name.split(".")):
                        raise ValueError(str(refused[0]))

    def _decides(self, name: str) -> bool:
        return not self.ranges[name].is_numeric

    def _goes_with(self, name: str, values: Mapping[str, Any]) -> bool:
        """Say whether a parameter can be given along with names that were chosen."""
        if self._decides(name):
            return True
        chosen = {other: value for other, value in values.items() if self._decides(other)}
        return any(self._refused({**chosen, name: v}) is None for v in self.ranges[name].samples)

    def _refused(self, values: Mapping[str, Any]) -> Exception | None:
        """Return why the policy cannot have some values, if it cannot."""
        try:
            check_policy(policy_of(self.entry(values)), self.environment)
        except (ValueError, TypeError) as error:
            return error
        return None


def policy_of(entry: Mapping[str, Any]) -> Policy:
    """Return the policy that an entry of a spec describes."""
    policy: Policy = from_spec("policy", {n: v for n, v in entry.items() if n not in OF_THE_RUN})
    return policy


def entry_of(policy: Policy) -> dict[str, Any]:
    """Return a policy as a spec has it, without what is the default anyway."""
    usual = to_spec(type(policy)())
    return {n: v for n, v in to_spec(policy).items() if n == "name" or v != usual[n]}


def _ranges(
    searched: Mapping[str, Any], component: Component, above: str = ""
) -> Iterator[tuple[str, Range]]:
    """Yield the ranges of a component's parameters, and of the components in it."""
    known = {p.name: p for p in parameters_of(type(component))}
    check_known(searched, list(known), f"{component.kind} {component.name!r}")
    for name, value in searched.items():
        with at(name):
            inner = getattr(component, name)
            if isinstance(inner, Component) and not is_range(value):
                yield from _ranges(value, inner, f"{above}{name}.")
            else:
                yield f"{above}{name}", read_range(value, whole=known[name].is_whole)


def _value(component: Any, name: str) -> Any:
    """Return the value of a parameter by its dotted name, as a spec has it."""
    *path, last = name.split(".")
    for step in path:
        component = getattr(component, step)
    return to_spec(component)[last]


def _put(entry: dict[str, Any], component: Any, path: Sequence[str], value: Any) -> None:
    """Put a value into an entry, or take it out if there is none."""
    step, *rest = path
    if rest:
        inner = getattr(component, step)
        given = entry.get(step)
        entry[step] = dict(given) if isinstance(given, Mapping) else {"name": inner.name}
        _put(entry[step], inner, rest, value)
    elif value is None:
        entry.pop(step, None)
    else:
        entry[step] = value
