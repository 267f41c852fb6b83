"""The structs of the kernel, read from its text, so that their fields are written down once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from math import prod
from typing import NamedTuple

SIZES = {"double": 8, "Int": 8, "Word": 8, "int": 4}
"""Bytes of the types of the kernel; `Real` depends on the precision."""


class Field(NamedTuple):
    """One field of a struct."""

    type: str
    """Such as `Int`, or `Real*` for an address."""
    name: str
    shape: tuple[str, ...]
    """Lengths of an array, as they are written."""


@cache
def fields_of(struct: str) -> tuple[Field, ...]:
    """Return the fields of a struct of records.cuh, in their order."""
    text = (files(__package__) / "kernels" / "records.cuh").read_text(encoding="utf-8")
    found = re.search(rf"struct {struct} {{(.*?)\n}};", text, re.DOTALL)
    assert found is not None, struct
    return tuple(_fields(re.sub(r"//[^\n]*", "", found[1])))


def _fields(body: str) -> Iterator[Field]:
    for declaration in filter(str.strip, body.split(";")):
        type_, rest = re.fullmatch(r"\s*(?:const )?(\w+)(.*)", declaration, re.DOTALL).groups()  # type: ignore[union-attr]
        for part in rest.split(","):
            star, name, shape = re.fullmatch(r"\s*(\*?)\s*(\w+)((?:\[[^\]]*\])*)", part).groups()  # type: ignore[union-attr]
            yield Field(type_ + star, name, tuple(re.findall(r"\[([^\]]*)\]", shape)))


def bytes_of(struct: str, real: int, lengths: Mapping[str, int]) -> int:
    """Return the size of a struct whose `Real` has so many bytes, as a C compiler lays it out."""
    size, largest = 0, 1
    for field in fields_of(struct):
        one = real if field.type == "Real" else SIZES[field.type]
        count = prod(eval(length, {"__builtins__": {}}, dict(lengths)) for length in field.shape)
        size = -(-size // one) * one + one * count
        largest = max(largest, one)
    return -(-size // largest) * largest
