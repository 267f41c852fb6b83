"""How far an event log has come."""

from __future__ import annotations

from collections.abc import Callable


class LogStatus:
    """What the service that writes the log of its store knows of it."""

    def __init__(self) -> None:
        self.problem = ""
        """Why it is not written now, if it is not."""
        self._up_to: float | None = None
        self._followers: list[Callable[[int], None]] = []

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

    def stopped(self) -> None:
        """Note that another service writes it, or nobody."""
        self._up_to = None

    def lag(self, now: float) -> float | None:
        """Return for how many seconds something may not be written yet; None if this service does
        not write it."""
        return None if self._up_to is None else max(0.0, now - self._up_to)
