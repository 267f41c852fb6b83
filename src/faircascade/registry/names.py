"""Which class has which name."""

from __future__ import annotations

from typing import Any

from faircascade.errors import ParameterError, one_of
from faircascade.registry.component import Component
from faircascade.registry.discovery import import_rooms
from faircascade.settings import underscored

registered: dict[str, dict[str, type[Component]]] = {}
"""Classes by kind and name, as far as their modules are imported."""


def enter(cls: type[Component], name: str) -> None:
    """Know a class by a name that no other class of its kind has."""
    taken = registered.setdefault(cls.kind, {}).get(name)
    if taken is not None and _full_name(taken) != _full_name(cls):
        raise ValueError(f"{cls.kind} {name!r} is already {_full_name(taken)}")
    registered[cls.kind][name] = cls


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def unregister(module: str) -> None:
    """Forget the parts of a module, which is to be loaded again."""
    for some in registered.values():
        for name in [name for name, cls in some.items() if cls.__module__ == module]:
            del some[name]


def kinds() -> list[str]:
    """Return every kind of component."""
    import_rooms()
    return sorted(registered)


def components(kind: str) -> dict[str, type[Component]]:
    """Return the registered classes of one kind by name, sorted."""
    import_rooms()
    return dict(sorted(registered.get(kind, {}).items()))


def find(kind: str, name: Any) -> type[Component] | None:
    """Return the class registered as `name`, whether that is written with '-' or '_', or None."""
    known = components(kind)
    if not isinstance(name, str):
        return None
    if name in known:
        return known[name]
    alike = (cls for other, cls in known.items() if underscored(other) == underscored(name))
    return next(alike, None)


def lookup(kind: str, name: Any, parameter: str = "") -> type[Component]:
    """Return the class registered as `name`, or explain what there is.

    The `parameter` that it is the value of is called by its kind unless another name is given.
    """
    found = find(kind, name)
    if found is None:
        meant = name.partition("(")[0] if isinstance(name, str) else ""
        rule = f"must be {one_of(list(components(kind)), meant)}"
        raise ParameterError(parameter or kind, rule, name)
    return found
