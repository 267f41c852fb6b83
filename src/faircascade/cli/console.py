"""What commands print: tables and JSON on stdout, remarks on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_PIPE_WIDTH = 120
_NAME_WIDTH = 20
"""Columns from which on a word of a name may be broken."""
_ENDLESS = 10_000
"""Columns that every table fits into."""
_FRAME = 3
"""Columns of a table's frame and padding, for each of its columns."""


def stdout() -> Console:
    """Return the console for results; a pipe gets plain text of a fixed width."""
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)


def stderr() -> Console:
    """Return the console for everything that is not a result."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def remark(text: str) -> None:
    """Say something that is not a result."""
    stderr().print(text, markup=False)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    numbers: bool = False,
    names: int = 1,
) -> None:
    """Print a table; columns of numbers, all but the first few with names, are right-aligned.

    Names are wrapped where they do not fit, numbers never: columns that are too many for the
    terminal follow in further tables.
    """
    console = stdout()
    endless = console.options.update(width=_ENDLESS)
    shown = names if numbers else len(headers)
    blocks = _blocks(headers, rows, shown, console.width)
    for place, columns in enumerate(blocks):
        table = Table(title=title or None, title_justify="left", header_style="bold")
        for column in range(shown):
            table.add_column(headers[column], overflow="fold")
        for column in columns:
            table.add_column(headers[column], justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*(escape(row[column]) for column in (*range(shown), *columns)))
        if console.measure(table, options=endless).maximum > console.width:
            # names take what is left, and headers are wrapped, too
            for column, drawn in zip(columns, table.columns[shown:], strict=True):
                drawn.no_wrap, drawn.width = False, _width(headers, rows, column)
        console.print(table)
        title = f"Continued ({place + 2} of {len(blocks)})"


def _blocks(
    headers: Sequence[str], rows: Sequence[Sequence[str]], names: int, width: int
) -> list[list[int]]:
    """Return the columns of numbers of each table, as many as fit beside the names."""
    labels = sum(_name_width(headers, rows, column) + _FRAME for column in range(names))
    blocks: list[list[int]] = [[]]
    room = width - labels - 1
    for column in range(names, len(headers)):
        needed = _width(headers, rows, column) + _FRAME
        if needed > room and blocks[-1]:
            blocks.append([])
            room = width - labels - 1
        blocks[-1].append(column)
        room -= needed
    return blocks


def _name_width(headers: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    """Return the least width of a column of names: words are whole unless they are very long."""
    words = " ".join((headers[column], *(row[column] for row in rows))).split()
    return min(_NAME_WIDTH, max(map(cell_len, words), default=0))


def _width(headers: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    """Return the width of a column whose cells are not wrapped and whose header may be."""
    lines = [line for row in rows for line in row[column].splitlines()]
    return max(map(cell_len, (*lines, *headers[column].split(), "")))


def counted(count: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "trial"), counted(2000, "seed"), counted(2, "policy")
    ('1 trial', '2,000 seeds', '2 policies')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def percent(value: float) -> str:
    """Format a change in percent with its sign."""
    if math.isnan(value):
        return "–"
    return f"{value:+.1f}%" if abs(value) >= 0.05 else "0.0%"
