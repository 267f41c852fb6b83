"""Components from plain data, names and tables, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from typing import Any

from faircascade.errors import (
    MissingParameterError,
    ParameterError,
    UnknownParameterError,
    parameters_of_part,
)
from faircascade.parameters import Parameter, parameters_by_name, parameters_of
from faircascade.registry.component import Component, declared
from faircascade.registry.names import lookup
from faircascade.settings import part_table


def build(kind: str, name: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """Construct the component registered as `name`; unknown and missing parameters are refused."""
    return _construct(lookup(kind, name), parameters or {})


def from_spec(kind: str, spec: Mapping[str, Any]) -> Any:
    """Construct the component that `to_spec` described."""
    return _construct(*_divided(kind, spec, kind))


def _divided(
    kind: str, table: Mapping[str, Any], parameter: str
) -> tuple[type[Component], dict[str, Any]]:
    """Return the class that a table names, and the other entries."""
    if "name" not in table:
        raise ParameterError(parameter, "must have a name", dict(table))
    cls = lookup(kind, table["name"], parameter)
    return cls, {name: value for name, value in table.items() if name != "name"}


def _construct(cls: type[Component], given: Mapping[str, Any]) -> Any:
    for name in given:
        parameter_of(cls, name)
    for parameter in parameters_of(cls):
        if parameter.default is MISSING and parameter.name not in given:
            raise MissingParameterError(parameter.name, _owner(cls))
    return cls(**given)


def parameter_of(cls: type[Component], name: str) -> Parameter:
    """Return a parameter of a class, or explain which it has."""
    known = parameters_by_name(cls)
    if name not in known:
        raise UnknownParameterError(name, _owner(cls), known, why=cls.lacks.get(name, ""))
    return known[name]


def _owner(cls: type[Component]) -> str:
    return f"{cls.kind} {cls.name!r}"


def validated(parameter: Parameter, value: Any) -> Any:
    """Return a value as its parameter's type has it; names and tables become components.

    A table without a name is for the part that the parameter has by default.
    """
    kind, name = parameter.kind, parameter.name
    if not kind:
        return parameter.check(value)
    if isinstance(value, Component) and value.kind == kind:
        return value
    place = name
    if isinstance(value, str) and "(" in value:
        value = part_table(value)
    elif isinstance(value, str) and str not in parameter.members:
        value = {"name": value}
    elif isinstance(value, Mapping) and "name" in value:
        place = f"{name}.name"
    if isinstance(value, Mapping):
        default = getattr(parameter.default, "name", parameter.default)
        named = {"name": default} if isinstance(default, str) else {}
        cls, given = _divided(kind, {**named, **value}, place)
        with parameters_of_part(name):
            return _construct(cls, given)
    several = len([t for t in parameter.members if t is not type(None)]) > 1
    if value is None or (several and not isinstance(value, type)):  # a class is no function here
        return parameter.check(value)
    raise _no_part(name, kind, value)


def as_component(kind: str, value: Any) -> Any:
    """Turn a name, `name(parameter=value)` or a table into the part; refuse what is none."""
    if isinstance(value, str):
        value = part_table(value)
    if isinstance(value, Mapping):
        return from_spec(kind, value)
    if isinstance(value, type) or getattr(value, "kind", None) != kind:
        raise _no_part(kind, kind, value)
    return value


def _no_part(name: str, kind: str, value: Any) -> ParameterError:
    words = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', ' ')}"
    if isinstance(value, type) and getattr(value, "kind", None) == kind:
        rule = f"must be {words}, not its class: write {value.__name__}()"
        return ParameterError(name, rule, value)
    return ParameterError(name, f"must be {words}, its name, or a table", value)


def to_spec(component: Component) -> dict[str, Any]:
    """Describe a component as plain data: `{"name": ..., parameter: value, ...}`."""
    if declared(component, "name") is None:
        raise TypeError(
            f"{component.kind} {type(component).__name__!r} is not registered, so that a spec "
            'would take it for another; give it @register("its-name")'
        )
    spec: dict[str, Any] = {"name": component.name}
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        if isinstance(value, Component):
            value = to_spec(value)
        elif isinstance(value, tuple):
            value = list(value)
        elif hasattr(value, "item"):  # a NumPy scalar
            value = value.item()
        elif callable(value):
            raise TypeError(
                f"{component.kind} {component.name!r} holds a function in {parameter.name!r}, "
                "which a spec file cannot; give its values instead"
            )
        spec[parameter.name] = value
    return spec


def identity(component: Component) -> dict[str, Any]:
    """Return what tells a component from others: its spec, or its class and how it is shown."""
    try:
        return to_spec(component)
    except TypeError:
        cls = type(component)
        return {"class": f"{cls.__module__}.{cls.__qualname__}", "repr": repr(component)}


def nested(component: Component) -> Iterator[Component]:
    """Yield a component and those inside it."""
    yield component
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        if isinstance(value, Component):
            yield from nested(value)


def flat_spec(component: Component) -> dict[str, Any]:
    """Return every parameter by its dotted name, those of nested components included."""
    flat: dict[str, Any] = {}
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        flat[parameter.name] = value.name if isinstance(value, Component) else value
        if isinstance(value, Component):
            inner = flat_spec(value).items()
            flat |= {f"{parameter.name}.{name}": v for name, v in inner}
    return flat
