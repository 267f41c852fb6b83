"""Options of an environment, as specs, cells and the command line give them: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Annotated, Any

from faircascade.data.prepare import check_threshold
from faircascade.environment import Environment
from faircascade.environment.from_ratings import USERS
from faircascade.errors import UnknownParameterError
from faircascade.parameters import Parameter, parameters_of_function
from faircascade.registry import Component, flat_spec, to_spec, validated

_COUNTS = ("dim", "k", "users")
"""Options that must be at least 1."""


@cache
def environment_options() -> dict[str, Parameter]:
    """Return the keywords of `Environment.from_ratings`, but for the seed.

    A part that is left out (`click_model=None`) is the one that an `Environment` has by default.
    """
    from pydantic import AfterValidator, Field

    parts = {
        f.name: f.default if f.default_factory is MISSING else f.default_factory()
        for f in fields(Environment)
    }
    found = {}
    for option in parameters_of_function(Environment.from_ratings):
        if option.kind:  # its names and tables are built here, whatever else it takes
            part = next(t for t in option.members if getattr(t, "kind", "") == option.kind)
            default = parts[option.name] if option.default is None else option.default
            option = replace(option, type=part)
            option = replace(option, default=validated(option, default))
        if option.name == "users":
            option = replace(option, type=int, default=USERS)
        if option.name in _COUNTS:
            option = replace(option, type=Annotated[option.type, Field(ge=1)])
        if option.name == "threshold":
            option = replace(option, type=Annotated[option.type, AfterValidator(check_threshold)])
        if option.name != "seed":
            found[option.name] = option
    return found


def check_option(name: str, value: Any) -> Any:
    """Return the value of an option as `Environment.from_ratings` takes it, or refuse it."""
    known = environment_options()
    if name not in known:
        raise UnknownParameterError(name, "[environment]", known)
    return validated(known[name], value)


def build_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as `Environment.from_ratings` takes them: names and tables become parts."""
    return {name: check_option(name, value) for name, value in given.items()}


def all_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option, those not given with their defaults."""
    defaults = {name: option.default for name, option in environment_options().items()}
    return defaults | build_options(given)


def canonical_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option as plain data that does not depend on how it was written."""
    return {
        name: to_spec(value) if isinstance(value, Component) else value
        for name, value in all_options(given).items()
    }


def flat_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option by its dotted name: `click_model`, `click_model.stop`."""
    flat: dict[str, Any] = {}
    for name, value in all_options(given).items():
        flat[name] = value.name if isinstance(value, Component) else value
        if isinstance(value, Component):
            flat |= {f"{name}.{inner}": v for inner, v in flat_spec(value).items()}
    return flat
