"""How far work has come: a bar on a terminal, one line in a notebook, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

_PLAIN_STEP = 0.1
_PLAIN_QUIET = 1.0
"""Seconds before the first line: what is done by then needs none."""
_PLAIN_SURE = 0.01
"""Share of the work before which an estimate would be a guess."""
_PLAIN_PATIENCE = 20.0
"""Seconds after which a line comes even without a tenth of progress."""
_NOTEBOOK_STEP = 0.25
"""Seconds between two states of a notebook's line."""

Report = Callable[[str, float], None]
"""Called with what is being done and the share of the whole that is done."""


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Show progress on stderr with an estimate, wherever that leads."""
    display = _interactive() or _lines
    with display(what) as report:
        yield report


@contextmanager
def progress_if_watched(what: str) -> Iterator[Report | None]:
    """Show progress on a terminal and in a notebook; elsewhere nobody asked for it."""
    display = _interactive()
    if display is None:
        yield None
        return
    with display(what) as report:
        yield report


def _interactive() -> Callable[[str], AbstractContextManager[Report]] | None:
    """Return the display for somebody who is watching; None if stderr goes elsewhere."""
    if sys.stderr.isatty():
        return _bar
    return _notebook_line if _in_notebook() else None


def _in_notebook() -> bool:
    """Tell whether a Jupyter kernel runs this process, without importing anything."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _bar(what: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda label, share: bar.update(
            task, completed=share, description=f"{what} {label}".strip()
        )


@contextmanager
def _notebook_line(what: str) -> Iterator[Report]:
    """Rewrite one line, which every notebook can do, and leave it empty."""
    pace, last, width = _Pace(), -math.inf, 0

    def tell(label: str, share: float) -> None:
        nonlocal last, width
        now = time.monotonic()
        left = pace.left(now, share)
        if now - last < _NOTEBOOK_STEP:
            return
        text = _line(what, label, share, left)
        print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)
        last, width = now, len(text)

    try:
        yield tell
    finally:
        if width:
            print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def _lines(what: str) -> Iterator[Report]:
    begin = last = time.monotonic()
    pace, told = _Pace(), -1.0

    def tell(label: str, share: float) -> None:
        nonlocal told, last
        now = time.monotonic()
        left = pace.left(now, share)
        step = math.floor(share / _PLAIN_STEP + 1e-9)
        if now - begin < _PLAIN_QUIET or (step <= told and now - last < _PLAIN_PATIENCE):
            return
        told, last = step, now
        print(_line(what, label, share, left), file=sys.stderr, flush=True)

    yield tell


class _Pace:
    """How long the rest will take, by what was done since work began to show: until then engines
    are compiled."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def left(self, now: float, share: float) -> float:
        """Return the seconds left, 0 where that would be a guess."""
        if self._first is None and share > 0:
            self._first = now, share
        since, done = (now - self._first[0], share - self._first[1]) if self._first else (0.0, 0.0)
        return since * (1 - share) / done if done >= _PLAIN_SURE else 0.0


def _line(what: str, label: str, share: float, left: float) -> str:
    """Return how far it is and, where that is more than a guess, how long it will take."""
    estimate = f", about {left:,.0f} s left" if left >= 1 else ""
    return f"{what} {label}".strip() + f": {share:.0%}{estimate}"
