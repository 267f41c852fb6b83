"""Errors in a spec, with the line of the file or the --set that they come from."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from faircascade.errors import ParameterError
from faircascade.registry import Component, to_spec
from faircascade.settings import Place as Place
from faircascade.settings import Setting, outer_first, put


class SpecError(ValueError):
    """A spec that cannot be run, with the place of the mistake."""


class PlacedError(ValueError):
    """A mistake at a place of a spec, before anybody knows the line."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.place = place


@contextmanager
def at(*place: str | int) -> Iterator[None]:
    """Say of every mistake in the block that it is here, or further inside."""
    try:
        yield
    except SpecError:
        raise
    except PlacedError as error:
        raise PlacedError(str(error), (*place, *error.place)) from None
    except (ValueError, TypeError) as error:
        raise PlacedError(str(error), place) from error


def place_of(name: str, table: Mapping[str, Any]) -> Place:
    """Return the place of a dotted parameter in a table, as far as that is there.

    >>> place_of("reward.gamma", {"reward": {"name": "exposure-aware", "gamma": -1}})
    ('reward', 'gamma')
    >>> place_of("reward.gamma", {"reward": "exposure-aware"})
    ('reward',)
    """
    place: list[str] = []
    value: Any = table
    for step in name.split("."):
        if not isinstance(value, Mapping) or step not in value:
            break
        value = value[step]
        place.append(step)
    return tuple(place)


@dataclass(frozen=True)
class SpecSource:
    """What a spec was read from."""

    name: str = "spec"
    """The file, for messages."""
    text: str = ""
    overrides: Mapping[Place, str] = field(default_factory=dict)
    """Values that the command line set, and how."""

    def error(self, message: str, place: Place) -> SpecError:
        """Return a mistake with the file and the line, or with the --set, that it is in."""
        written = _has(tomllib.loads(self.text), place)
        for overridden, setting in self.overrides.items():
            inside = overridden == place[: len(overridden)]
            grid = overridden == (*place, "grid")
            around = grid or (place and not written and place == overridden[: len(place)])
            if inside or around:
                return SpecError(f"--set {setting}: {message}")
        line = line_of(self.text, place)
        return SpecError(f"{self.name}{'' if line is None else f':{line}'}: {message}")


def line_of(text: str, place: Place) -> int | None:
    """Return the line on which a value begins; failing that, the nearest table around it.

    The parser is the judge: a value begins behind the longest whole part of the file that does
    not have it yet.

    >>> line_of("a = 1\\n[b]\\n# c is long\\nc = [\\n  1,\\n]\\n", ("b", "c"))
    4
    """
    lines = text.split("\n")
    begin = 0
    for count in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:  # in the middle of a value
            continue
        if place and _has(document, place):
            return begin + 1
        begin = count
    return line_of(text, place[:-1]) if len(place) > 1 else None


def _has(document: Any, place: Place) -> bool:
    for step in place:
        if isinstance(document, Mapping):
            if step not in document:
                return False
        elif not (isinstance(document, list) and isinstance(step, int) and step < len(document)):
            return False
        document = document[step]
    return True


def override(
    document: Mapping[str, Any], settings: Iterable[str]
) -> tuple[dict[str, Any], dict[Place, str]]:
    """Put each `path.to.key=value` into a document; return it, and where each went."""
    changed = _copy(document)
    where: dict[Place, str] = {}
    try:
        ordered = outer_first(map(Setting.parse, settings))
    except ParameterError as error:
        raise SpecError(str(error)) from None
    for setting in ordered:
        try:
            for place in put(changed, setting.steps, setting.value):
                where[place] = setting.text
        except ValueError as error:
            raise SpecError(f"--set {setting.text}: {error}") from None
    return changed, where


def _copy(value: Any) -> Any:
    """Return plain data that a document holds; components become the tables that describe them."""
    if isinstance(value, Component):
        return _copy(to_spec(value))
    if isinstance(value, Mapping):
        return {name: _copy(inner) for name, inner in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's numbers and arrays
    return [_copy(inner) for inner in value] if isinstance(value, list | tuple) else value
