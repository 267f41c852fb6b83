"""How often a request is sent, and when: decided here, done by a client.

Nothing in here waits or sends, so both clients share it. A retry library would do the loop alone:
the rules that matter (one deadline for pauses and attempts, `Retry-After`, a recommendation that
is repeated only if it surely was not counted) would still be ours, once for each client.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar
from uuid import uuid4

from faircascade.client.errors import ServiceError, ServiceUnavailable
from faircascade.client.transport import Operation, Reply, Request, RetryRule
from faircascade.errors import ParameterError

T = TypeVar("T")

FIRST_BACKOFF = 0.1
LONGEST_BACKOFF = 2.0
"""Seconds to wait at most before the second attempt, and before any."""
LONGEST_RETRY_AFTER = 10.0
"""Seconds that a service may make a client wait."""
LAST_ATTEMPT = 0.5
"""Seconds before the deadline to which a pause that is longer is cut, for a last attempt."""
SHORTEST_TIMEOUT = 0.001
"""Seconds that an attempt gets even if the deadline came while it was being decided on."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How patient a client is."""

    timeout: float = 5.0
    """Seconds to wait for the connection, and for the service to say something."""
    retries: int | None = None
    """How often to try again; None: until the deadline."""
    deadline: float = 15.0
    """Seconds after which no attempt begins or goes on."""
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    """A number in [0, 1)."""

    def __post_init__(self) -> None:
        for name in ("timeout", "deadline"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ParameterError(name, "must be seconds > 0", getattr(self, name))
        if self.retries is not None and self.retries < 0:
            raise ParameterError("retries", "must be at least 0", self.retries)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """To be done by a client: wait, then send the request."""

    request: Request
    request_id: str
    """The same in all attempts at a call."""
    after: float
    """Seconds to wait before."""
    timeout: float
    until: float
    """When to stop, by the clock, though data may still be coming in."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An attempt without a reply."""

    what: str
    unsent: bool
    """True if the service surely got nothing."""
    cause: Exception | None = None


Attempts = Generator[Attempt, Reply | Failure, T]
"""Attempts come out of it, what became of them goes in, and a value is returned."""


def run_operation(steps: Operation[T], settings: RetryPolicy) -> Attempts[T]:
    """Lead a call to its end, with as many attempts at its requests as it takes."""
    request_id = uuid4().hex
    try:
        request = next(steps)
        while True:
            try:
                reply = yield from _reply(request, request_id, settings)
            except ServiceError as error:
                request = steps.throw(error)
            else:
                request = steps.send(reply)
    except StopIteration as done:
        value: T = done.value
        return value


def _reply(request: Request, request_id: str, settings: RetryPolicy) -> Attempts[Reply]:
    """Try until there is a reply that is no error; raise what it came to otherwise."""
    began = settings.clock()
    until = began + settings.deadline
    tries, pause, perhaps_done = 0, 0.0, False
    while True:
        tries += 1
        outcome = yield Attempt(
            request=request,
            request_id=request_id,
            after=pause,
            timeout=min(settings.timeout, max(until - settings.clock() - pause, SHORTEST_TIMEOUT)),
            until=until,
        )
        if isinstance(outcome, Reply) and _is_answer(outcome, request, perhaps_done):
            return outcome
        now = settings.clock()
        longest = until - min(LAST_ATTEMPT, settings.deadline / 10) - now
        pause = min(_pause(tries, outcome, settings), longest)
        enough = settings.retries is not None and tries > settings.retries
        if not _may_repeat(request, outcome) or enough or longest <= 0:
            cause = outcome.cause if isinstance(outcome, Failure) else None
            raise _error(outcome, request, request_id, tries, now - began) from cause
        perhaps_done = perhaps_done or not _undone(outcome)


def _is_answer(reply: Reply, request: Request, perhaps_done: bool) -> bool:
    # An earlier attempt at removing it may have done so though its answer was lost.
    gone = reply.status == 404 and request.method == "DELETE" and perhaps_done
    return 200 <= reply.status < 300 or reply.status in request.answers or gone


def _may_repeat(request: Request, outcome: Reply | Failure) -> bool:
    if request.retry is RetryRule.NEVER:
        return False
    if _undone(outcome):
        return True
    passing = isinstance(outcome, Failure) or outcome.status in (502, 504)
    return passing and request.retry is RetryRule.ALWAYS


def _undone(outcome: Reply | Failure) -> bool:
    """Return True if the service surely did nothing, and might another time."""
    if isinstance(outcome, Failure):
        return outcome.unsent
    return outcome.status in (429, 503)


def _perhaps_done(outcome: Reply | Failure) -> bool:
    """Return True if the service may have done it though it did not say so."""
    if isinstance(outcome, Failure):
        return not outcome.unsent
    return outcome.status >= 500 and not _undone(outcome)


def _pause(tries: int, outcome: Reply | Failure, settings: RetryPolicy) -> float:
    """Return seconds to wait: at random, so that clients do not come back all at once."""
    longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(tries - 1, 30))
    asked = _retry_after(outcome) if isinstance(outcome, Reply) else 0.0
    return settings.chance() * longest + min(asked, LONGEST_RETRY_AFTER)


def _retry_after(reply: Reply) -> float:
    """Return the seconds to wait that the service names, as a number or a date; 0 if none."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    now = datetime.now(UTC)
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())


def _error(
    outcome: Reply | Failure, request: Request, request_id: str, tries: int, seconds: float
) -> ServiceError:
    more = f" (gave up after {tries} attempts in {seconds:.1f} s)" if tries > 1 else ""
    if request.retry is RetryRule.IF_NOT_PROCESSED and _perhaps_done(outcome):
        more += "; not retried, because the slate may have been counted as shown"
    if isinstance(outcome, Failure):
        return ServiceUnavailable(None, "No Answer", outcome.what + more, (), request_id)
    error = outcome.error()
    return type(error)(
        error.status, error.title, error.detail + more, error.errors, error.request_id
    )
