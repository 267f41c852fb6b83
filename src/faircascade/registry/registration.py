"""How a class gets its name: `@register("name")`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar

from faircascade.errors import ParameterError
from faircascade.parameters import descriptions_of, parameters_by_name
from faircascade.registry.component import Component
from faircascade.registry.names import enter
from faircascade.registry.own_parts import remember_source
from faircascade.registry.specs import parameter_of, validated
from faircascade.source_code import is_ours

C = TypeVar("C", bound=type[Component])


def register(name: str, *, engines: Iterable[str] = ()) -> Callable[[C], C]:
    """Give a component class its public name, and say which compiled engines have it."""

    def add(cls: C) -> C:
        if not cls.kind:
            raise TypeError(f"{cls.__name__} must derive from the base class of its room")
        if engines and not is_ours(cls.__module__):
            raise ParameterError(
                "engines", "must be left out: kernels are part of faircascade", [*engines]
            )
        if is_dataclass(cls):
            for reserved in ("name", "kind", "engines"):
                if reserved in {f.name for f in fields(cls)}:
                    raise TypeError(f"{cls.__name__} must not have a parameter {reserved!r}")
        enter(cls, name)
        cls.name = name
        cls.engines = frozenset(engines)
        remember_source(cls)
        if is_dataclass(cls):
            _check_arguments(cls)
            _document_parameters(cls)
        return cls

    return add


def _check_arguments(cls: type[Component]) -> None:
    """Let the constructor check its arguments, as specs and the command line do."""
    if "__init__" not in vars(cls):
        return
    construct: Callable[..., None] = cls.__init__
    by_name = all(f.kw_only for f in fields(cls))  # type: ignore[arg-type]

    @wraps(construct)
    def checked(self: Component, *arguments: Any, **given: Any) -> None:
        if arguments and by_name:
            names = (
                ", ".join(f"{name}=" for name in parameters_by_name(type(self))) or "it has none"
            )
            raise TypeError(f"{cls.__name__} takes its parameters by name: {names}")
        for name, value in given.items():
            given[name] = validated(parameter_of(type(self), name), value)
        construct(self, *arguments, **given)

    cls.__init__ = checked  # type: ignore[method-assign, assignment]


def _document_parameters(cls: type[Component]) -> None:
    """Put what is said of the parameters into the docstring, which `help()` shows."""
    of = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    said = {name: text for name, text in descriptions_of(cls).items() if name in of}
    if said:
        lines = (f"{name}: {' '.join(text.split())}" for name, text in said.items())
        listing = "\n        ".join(lines)
        cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n\n    Parameters:\n        {listing}\n"
