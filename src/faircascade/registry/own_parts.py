"""Parts that are not part of this package, and their source code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb

from faircascade.errors import ParameterError
from faircascade.registry.component import Component
from faircascade.registry.discovery import import_rooms
from faircascade.registry.names import registered
from faircascade.source_code import is_ours, own_sources

_sources: dict[type, dict[str, str]] = {}
"""What `own_sources` found when a class was registered: the code that runs, whatever a file says
by now."""


def own_parts() -> list[type[Component]]:
    """Return the registered classes that are not part of this package."""
    import_rooms()
    return list(_own())


def _own() -> Iterator[type[Component]]:
    every = (cls for some in registered.values() for cls in some.values())
    return (cls for cls in every if not is_ours(cls.__module__))


def remember_source(cls: type[Component]) -> None:
    """Keep what the source of a class is now."""
    _sources[cls] = own_sources(cls)


def adopt(cls: type[Component], sources: dict[str, str]) -> None:
    """Know a class that was registered in another process, with what `own_code` is of it there."""
    import_rooms()
    registered.setdefault(cls.kind, {})[cls.name] = cls
    _sources[cls] = sources


def own_code(component: Component | type[Component]) -> dict[str, str]:
    """Return a hash of the source of every module outside this package that a component runs.

    What such a component does is known by its source alone, so that stored results of it hold
    for that source only.
    """
    cls = component if isinstance(component, type) else type(component)
    if cls not in _sources:
        remember_source(cls)
    return _sources[cls]


def own_fault(error: BaseException) -> str:
    """Return an error that arose in somebody's own part, and where; nothing if it did elsewhere.

    A `ParameterError` is what a part says of its parameters, and no error in it.
    """
    if isinstance(error, ParameterError):
        return ""
    parts = {cls.__module__ for cls in _own()}
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        module = frame.f_globals.get("__name__", "")
        if module in parts:
            file = Path(frame.f_code.co_filename).name
            place = f"{frame.f_code.co_qualname} ({file}, line {line})"
            return f"{type(error).__name__}: {error} in {place}"
    return ""
