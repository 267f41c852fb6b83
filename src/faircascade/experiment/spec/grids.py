"""Grids: `parameter.grid = [...]` stands for one value after the other, at any depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import product
from typing import Any

from faircascade.errors import ParameterError
from faircascade.experiment.spec.errors import at

GRID = "grid"


def expand(value: Any, name: str = "value") -> Iterator[Any]:
    """Yield a value with every combination of the grids in it; the last one varies fastest.

    `name` is how messages call the value.

    >>> list(expand({"a": {"grid": [1, 2]}, "b": {"c": {"grid": ["x", "y"]}}, "d": 0}))[1]
    {'a': 1, 'b': {'c': 'y'}, 'd': 0}
    """
    if not isinstance(value, Mapping):
        yield value
    elif GRID in value:
        yield from _values(value, name)
    elif len(value) == 1 and get_close_matches(str(next(iter(value))), [GRID]):
        (given,) = value
        raise ValueError(f"{name}.{given} must be written {name}.{GRID}")
    else:
        choices = []
        for key, inner in value.items():
            with at(key):
                choices.append(list(expand(inner, key if name == "value" else f"{name}.{key}")))
        for chosen in product(*choices):
            yield dict(zip(value, chosen, strict=True))


def _values(value: Mapping[str, Any], name: str) -> list[Any]:
    if set(value) != {GRID}:
        raise ParameterError(name, "must be a grid or a table, not both", dict(value))
    values = value[GRID]
    if not isinstance(values, list | tuple) or not values:
        raise ParameterError(f"{name}.{GRID}", "must be a list of at least one value", values)
    return list(values)


def with_hint(error: ParameterError) -> str:
    """Return a mistake in words; a list where one value belongs was meant as a grid.

    >>> with_hint(ParameterError("dim", "must be a whole number", [5, 10]))
    'dim must be a whole number, got [5, 10]; to run each of them, write dim.grid = [5, 10]'
    """
    if not isinstance(error.value, list):
        return str(error)
    return f"{error}; to run each of them, write {error.name}.{GRID} = {error.value}"
