"""How far an event log has come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class LogStatus:
    """What the service that writes the log of its store knows of it."""

    def __init__(self) -> None:
        self._problem = ""
        self._note: Path | None = None
        self._up_to: float | None = None
        self._followers: list[Callable[[int], None]] = []

    def share(self, folder: Path) -> None:
        """Let all workers, who have a folder in common, know of a problem of the writing one."""
        self._note = folder / "event-log-problem"

    @property
    def problem(self) -> str:
        """Why it is not written now, if it is not."""
        if self._note is None:
            return self._problem
        try:
            return self._note.read_text("utf-8")
        except FileNotFoundError:
            return ""

    @problem.setter
    def problem(self, why: str) -> None:
        self._problem = why
        if self._note is not None and why:
            self._note.write_text(why, "utf-8")
        elif self._note is not None:
            self._note.unlink(missing_ok=True)

    def follow(self, follower: Callable[[int], None]) -> None:
        """Tell whenever something was written, and how many rows."""
        self._followers.append(follower)

    def wrote(self, now: float, rows: int, *, behind: bool) -> None:
        """Note that all that had happened until now is written, or at least more of it: so many
        impressions with a known outcome."""
        self.problem = ""
        if not behind or self._up_to is None:
            self._up_to = now
        for follower in self._followers:
            follower(rows)

    def stopped(self, problem: str) -> None:
        """Note that this service does not write it any more."""
        self._up_to, self.problem = None, problem

    def lag(self, now: float) -> float | None:
        """Return for how many seconds something may not be written yet; None if this service does
        not write it."""
        return None if self._up_to is None else max(0.0, now - self._up_to)
