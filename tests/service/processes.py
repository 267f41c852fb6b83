"""Processes and what they started."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that these started."""
    found = [pid]
    for parent in found:
        try:
            for tasks in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (tasks / "children").read_text().split())
        except FileNotFoundError:  # it has ended
            continue
    return found[1:]
