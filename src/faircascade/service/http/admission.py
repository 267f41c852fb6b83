"""How many requests are worked on at a time: as many as are answered while they are young.

Who asks for more than the service can do would wait for longer and longer, and leave before the
slate comes, which counts as shown all the same. So what is too much is refused at once, and what
is not gets its answer in time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

log = logging.getLogger(__name__)

TICKET = "faircascade.ticket"
"""Where a scope has the ticket of its request."""
LOG_SECONDS = 10.0
"""Seconds between lines of the log about it."""
_SHRINK = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """When a kind of request is refused."""

    seconds: float
    """Age of an answer above which fewer requests are let in."""
    fewest: int
    """Requests under way that are let in however long they take."""
    most: int
    """Requests under way that are let in however quickly they are answered."""


PATIENCE: Mapping[str, Patience] = {
    "/v1/recommendations": Patience(seconds=0.03, fewest=16, most=128),
    "/v1/recommendations/batch": Patience(seconds=1.0, fewest=1, most=8),
    "/v1/feedback": Patience(seconds=1.0, fewest=128, most=1024),
    "/v1/feedback/batch": Patience(seconds=2.0, fewest=4, most=16),
}
"""By path. Recommendations are refused long before feedback, without which nothing is learned.
Whatever is not named is never refused: probes, the dashboard, the catalogue."""


class Limit:
    """How many requests of a kind may be under way.

    It grows by one while as many as it allows are answered in time, and shrinks by a third when
    one that came since the last time was not, as TCP does with packets.
    """

    def __init__(self, path: str, patience: Patience, clock: Callable[[], float]) -> None:
        self.path = path
        self.patience = patience
        self.size = float(patience.most)
        self.under_way = 0
        self.shed = 0
        self.clock = clock
        self._shrunk = self._logged = -LOG_SECONDS

    def ticket(self) -> Ticket | None:
        """Let a request in; None if there are too many."""
        if self.under_way < self.size:
            return Ticket(self, self.clock())
        self._refuse()
        return None

    def answered(self, arrived: float) -> None:
        """Take note of how old an answer is."""
        now = self.clock()
        if now - arrived <= self.patience.seconds:
            self.size = min(self.patience.most, self.size + 1 / self.size)
        elif arrived >= self._shrunk:  # those before it are why it shrank
            self.size = max(self.patience.fewest, self.size * _SHRINK)
            self._shrunk = now

    def _refuse(self) -> None:
        self.shed += 1
        now = self.clock()
        if now >= self._logged + LOG_SECONDS:
            self._logged = now
            log.warning("too many requests", extra={"route": self.path, "shed": self.shed})


class Ticket:
    """A request that was let in."""

    __slots__ = ("_arrived", "_limit", "_state", "gone")

    def __init__(self, limit: Limit, now: float) -> None:
        self._limit = limit
        self._arrived = now
        self._state = 0  # 1 while it is under way, 2 when it is over
        self.gone = False
        """True if the client does not wait any more."""

    def arrive(self) -> None:
        """Begin to count as under way: all of the request is there."""
        if self._state == 0:
            self._state = 1
            self._limit.under_way += 1
            self._arrived = self._limit.clock()

    def leave(self, *, answered: bool) -> None:
        """Count no more."""
        if self._state == 1:
            self._limit.under_way -= 1
            if answered:
                self._limit.answered(self._arrived)
        self._state = 2

    def check(self) -> None:
        """Raise if nobody waits for the answer any more."""
        if self.gone:
            raise ClientDisconnect


class Admission:
    """The limits of an application, by path."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = {path: Limit(path, patience, clock) for path, patience in PATIENCE.items()}
        self._by_url = {path.encode(): limit for path, limit in self.limits.items()}

    def limit_of(self, scope: Scope) -> Limit | None:
        """Return the limit for a request, None if there is none."""
        return self.limits.get(scope["path"]) if scope["method"] == "POST" else None

    def limit_at(self, method: bytes, url: bytes) -> Limit | None:
        """Return the limit for a request as it is on the wire, None if there is none."""
        return self._by_url.get(url) if method == b"POST" else None


def check_of(request: Request) -> Callable[[], None] | None:
    """Return what raises once the client of a request is gone, None if nobody would know."""
    ticket: Ticket | None = request.scope.get(TICKET)
    return None if ticket is None else ticket.check
