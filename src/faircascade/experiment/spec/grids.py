"""Grids: `parameter.grid = [...]` stands for one value after the other, at any depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import product
from typing import Any

from faircascade.experiment.spec.errors import at

GRID = "grid"


def expand(value: Any) -> Iterator[Any]:
    """Yield a value with every combination of the grids in it; the last one varies fastest.

    >>> list(expand({"a": {"grid": [1, 2]}, "b": {"c": {"grid": ["x", "y"]}}, "d": 0}))[1]
    {'a': 1, 'b': {'c': 'y'}, 'd': 0}
    """
    if not isinstance(value, Mapping):
        yield value
    elif GRID in value:
        yield from _values(value)
    elif len(value) == 1 and get_close_matches(str(next(iter(value))), [GRID]):
        raise ValueError(
            f"a grid is written 'grid', got {next(iter(value))!r} (did you mean 'grid'?)"
        )
    else:
        choices = []
        for name, inner in value.items():
            with at(name):
                choices.append(list(expand(inner)))
        for chosen in product(*choices):
            yield dict(zip(value, chosen, strict=True))


def _values(value: Mapping[str, Any]) -> list[Any]:
    if set(value) != {GRID}:
        raise ValueError(f"a value must be a grid or a table, got both in {dict(value)}")
    values = value[GRID]
    if not isinstance(values, list | tuple):
        raise ValueError(f"a grid must be a list, got {values!r}")
    if not values:
        raise ValueError("a grid must have at least one value")
    return list(values)
