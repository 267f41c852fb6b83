"""What a comparison is given, in the forms people write it: an environment, policies, seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from numbers import Integral
from typing import Any

from faircascade.data.base import Ratings
from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.policies import Policy
from faircascade.registry import as_component, flat_spec
from faircascade.types import whole


def environment_source(given: Any) -> Callable[[int], Environment]:
    """Return the environment of each seed; see `compare` for what it may be given as."""
    if isinstance(given, Environment):
        return lambda seed: given
    if isinstance(given, type | Policy):
        raise ParameterError("env", "must be an Environment, or data to make one of", given)
    if not callable(given):
        ratings = given if isinstance(given, Ratings) else load_dataset(given)
        return lambda seed: Environment.from_ratings(ratings, seed=seed)

    if not _takes_one(given):
        raise ParameterError("env", "must be a function of one argument, the seed", given)

    def built(seed: int) -> Environment:
        env = given(seed)
        if not isinstance(env, Environment):
            raise ParameterError("env", f"must return an Environment for seed {seed}", env)
        return env

    return built


def _takes_one(function: Callable[..., Any]) -> bool:
    """Tell whether a function can be called with one argument; True if that is not known."""
    try:
        signature(function).bind(0)
    except TypeError:
        return False
    except ValueError:  # of some builtins
        return True
    return True


def policies_of(given: Any) -> list[Policy]:
    """Return policies: one or several, objects or names."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    policies = [as_component("policy", policy) for policy in (given if several else [given])]
    if not policies:
        raise ParameterError("policies", "must be at least one", policies)
    return policies


def distinct_labels(policies: Sequence[Policy]) -> list[str]:
    """Return a label for each policy; equal ones are told apart by the parameters that differ."""
    labels = [policy.label for policy in policies]
    for label in {label for label in labels if labels.count(label) > 1}:
        alike = [i for i, other in enumerate(labels) if other == label]
        specs = {i: flat_spec(policies[i]) for i in alike}
        names = dict.fromkeys(name for spec in specs.values() for name in spec)
        differ = [n for n in names if len({repr(spec.get(n)) for spec in specs.values()}) > 1]
        for i in alike:
            values = ", ".join(f"{n.split('.')[-1]}={specs[i][n]}" for n in differ if n in specs[i])
            labels[i] = f"{label} ({values})" if values else label
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ParameterError("policies", "must be distinct", twice)
    return labels


def seeds_of(given: int | Sequence[int]) -> tuple[int, ...]:
    """Return seeds: 1, 2, ... for a number of them, or those that were given."""
    if isinstance(given, str | bool) or not isinstance(given, Integral | Iterable):
        raise ParameterError("seeds", "must be a whole number or a list of seeds", given)
    which = range(1, int(given) + 1) if isinstance(given, Integral) else given
    seeds = tuple(whole(seed, "seeds") for seed in which)
    if any(seed < 0 for seed in seeds):
        raise ParameterError("seeds", "must be at least 0", given)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ParameterError("seeds", "must be at least one and distinct", given)
    return seeds
