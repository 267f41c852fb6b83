"""Layouts of text files by name: where their columns are, and what separates them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from faircascade.data.base import DataError
from faircascade.data.delimited import SEPARATORS, Layout, first_record, is_broken
from faircascade.data.text_file import TextFile

LayoutName = Literal["caserec", "lenskit", "matrix", "recbole", "surprise"]
BY_POSITION = ("user", "item", "rating", "timestamp")
"""The columns of a file without a header."""

_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?", re.ASCII)
_TYPED = re.compile(r"\w+:(token|float)(_seq)?")
_HEADER: dict[LayoutName, bool] = {
    "caserec": False,
    "lenskit": True,
    "matrix": False,
    "recbole": True,
    "surprise": False,
}
"""Whether the first line has the names of the columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """What a user says about a text file; what is left out is found out."""

    sep: str | None = None
    columns: tuple[str, ...] = ()
    """Names of all columns, if the file has no header."""
    layout: LayoutName | None = None
    header: bool | None = None
    """True if there must be one."""
    encoding: str = "utf-8"
    missing: bool = False
    """True if numbers may be missing."""


def find_layout(source: TextFile, options: TextOptions) -> tuple[Layout, tuple[str, ...]]:
    """Find the separator and the columns of a file; return notes on what was guessed."""
    recbole = options.layout == "recbole"
    try:
        line, fields, layout = _most_columns(source, _candidates(options, recbole=recbole))
    except LookupError as error:  # an unknown encoding
        raise DataError(f"{source.label}: {error}") from None
    if not recbole and not options.columns and any(map(_TYPED.fullmatch, fields)):
        return find_layout(source, replace(options, layout="recbole"))
    if len(fields) < 2:
        raise DataError(
            f"{source.label}: line {line}: only one column found, {fields[0][:80]!r}; "
            "name the separator with sep="
        )
    if layout.separator == " " and "" in fields and not options.sep:
        raise DataError(
            f"{source.label}: line {line}: fields are separated by more than one space; "
            "put one tab or comma between them"
        )
    if any(map(is_broken, fields)):
        raise DataError(
            f"{source.label}: line {line}: not {options.encoding} text; "
            "name another encoding with encoding="
        )
    if options.columns:
        return replace(layout, columns=options.columns), ()
    if _has_header(fields, options):
        return replace(layout, columns=tuple(fields), header=True), ()
    return _by_position(source, line, len(fields), layout, options)


def _has_header(fields: list[str], options: TextOptions) -> bool:
    """A first line of numbers alone has no names."""
    if options.layout is not None:
        return _HEADER[options.layout]
    return bool(options.header) or not all(map(_NUMBER.fullmatch, fields))


def _by_position(
    source: TextFile, line: int, found: int, layout: Layout, options: TextOptions
) -> tuple[Layout, tuple[str, ...]]:
    if options.layout == "matrix":
        return replace(layout, columns=tuple(f"item {i}" for i in range(found))), ()
    if found > len(BY_POSITION):
        raise DataError(
            f"{source.label}: line {line}: {found} columns and no header; name them with columns=, "
            "or say layout='matrix' if rows are users and columns are items"
        )
    columns = BY_POSITION[:found]
    said = f"the file has no header: its columns are taken as {', '.join(columns)}"
    return replace(layout, columns=columns), () if options.layout else (said,)


def _candidates(options: TextOptions, *, recbole: bool) -> list[Layout]:
    """Return the layouts that a text file may have, the likeliest first."""
    separators: Sequence[str] = (*SEPARATORS, " ")
    if options.header or recbole:
        separators = SEPARATORS
    if options.sep:
        separators = (options.sep,)
    return [
        Layout(
            columns=(),
            kinds={},
            separator=separator,
            quoted=separator != "::" and not recbole,
            encoding=options.encoding,
            missing=options.missing,
        )
        for separator in separators
    ]


def _most_columns(source: TextFile, layouts: list[Layout]) -> tuple[int, list[str], Layout]:
    """Return line and fields of the first record under the layout that finds most fields.

    Spaces separate only where nothing else does: they may stand in names, too.
    """
    firsts = [(*first_record(source, layout), layout) for layout in layouts]
    spaced = [first for first in firsts if first[2].separator == " "]
    others = [first for first in firsts if first[2].separator != " "]
    best = max(others or spaced, key=lambda first: len(first[1]))
    return spaced[0] if spaced and len(best[1]) < 2 else best
