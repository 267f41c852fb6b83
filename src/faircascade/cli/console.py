"""What commands print: tables and JSON on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

_PIPE_WIDTH = 120
_PLAIN_STEP = 0.1

Report = Callable[[str, float], None]


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


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table; all columns but the first are right-aligned."""
    table = Table(title=title or None, title_justify="left", header_style="bold")
    for number, header in enumerate(headers):
        table.add_column(header, justify="left" if number == 0 else "right", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def percent(value: float) -> str:
    """Format a change in percent with its sign."""
    return "–" if math.isnan(value) else f"{value:+.1f}%"


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Show progress: a bar with an estimate on a terminal, a line at every tenth elsewhere."""
    if sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=stderr(), transient=True) as bar:
            task = bar.add_task(what, total=1.0)
            yield lambda label, share: bar.update(
                task, completed=share, description=f"{what} {label}".strip()
            )
        return
    begin = time.monotonic()
    told = -1.0

    def tell(label: str, share: float) -> None:
        nonlocal told
        step = math.floor(share / _PLAIN_STEP + 1e-9) * _PLAIN_STEP
        if step > told:
            told = step
            left = (time.monotonic() - begin) * (1 / share - 1) if share > 0.05 else 0.0
            estimate = f", about {left:.0f} s left" if left >= 1 else ""
            remark(f"{what} {label}".strip() + f": {share:.0%}{estimate}")

    yield tell
