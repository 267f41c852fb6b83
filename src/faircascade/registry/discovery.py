"""Where parts are: the modules of every room, and those that other packages advertise."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

_ROOMS = (
    "data",
    "clicks",
    "environment.dynamics",
    "environment.delays",
    "observations",
    "rewards",
    "estimators",
    "exploration",
    "rerankers",
    "policies",
    "metrics",
)
_ENTRY_POINTS = "faircascade.components"


@cache
def import_rooms() -> None:
    """Import all modules that may have parts, which register themselves."""
    for room in _ROOMS:
        import_modules(f"faircascade.{room}")
    import_advertised()


def import_modules(package: str) -> None:
    """Import the modules of a package."""
    path = importlib.import_module(package).__path__
    for module in pkgutil.iter_modules(path, f"{package}."):
        importlib.import_module(module.name)


def import_advertised() -> None:
    """Import what other packages advertise."""
    for entry in _advertised():
        try:
            entry.load()
        except Exception as error:  # whatever somebody else's module raises
            raise ValueError(
                f"entry point {entry.name!r} ({entry.value}) of group {_ENTRY_POINTS!r} cannot be "
                f"imported: {error}"
            ) from error


def _advertised() -> EntryPoints:
    from importlib.metadata import entry_points  # slow to import, and needed only here

    return entry_points(group=_ENTRY_POINTS)


def advertised_modules() -> set[str]:
    """Return the modules that other packages advertise: every process imports them by itself."""
    return {entry.module for entry in _advertised()}
