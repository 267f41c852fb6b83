"""What goes over the wire, apart from how it gets there."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Any, TypeVar

from faircascade.client.errors import FieldError, ServiceError, ServiceUnavailable

T = TypeVar("T")

UNAVAILABLE = frozenset({502, 503, 504})
"""Statuses of a service, or of a proxy before it, that cannot answer now."""


class RetryRule(Enum):
    """When a request may be sent once more."""

    ALWAYS = "sent twice it does what it does once"
    IF_NOT_PROCESSED = "only if the service surely did nothing, as it says with 429 and 503"
    NEVER = "whoever asks wants to know how it is now"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of the service."""

    method: str
    path: str
    """Encoded; begins with a slash."""
    params: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    """A JSON document."""
    retry: RetryRule = RetryRule.ALWAYS
    answers: frozenset[int] = frozenset()
    """Statuses that are no errors here, besides those of success."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    content: bytes
    sent_as: str
    """The request's id, as the client gave it."""

    @property
    def request_id(self) -> str:
        """The request's id, as the service knows it."""
        return self.headers.get("x-request-id", self.sent_as)

    @property
    def kind(self) -> str:
        """What the document says of itself."""
        return self.headers.get("content-type", "a document without a type")

    def read(self, parse: Callable[[Any], T]) -> T:
        """Return what the JSON document says; refuse anything but what `parse` understands."""
        try:
            return parse(json.loads(self.content))
        except (ValueError, KeyError, TypeError) as error:
            raise self._unexpected() from error

    def error(self) -> ServiceError:
        """Return the error that it reports, be it from the service or from something before it."""
        try:
            return error_from(json.loads(self.content), self.status, self.request_id)
        except (ValueError, KeyError, TypeError):
            if 300 <= self.status < 400 and "location" in self.headers:
                detail = f"redirected to {self.headers['location']}; use that address"
            else:
                detail = f"the answer ({self.kind}) is not the service's; is a proxy in between?"
            return _error(self.status, _phrase(self.status), detail, (), self.request_id)

    def _unexpected(self) -> ServiceError:
        if self.status >= 400:
            return self.error()
        detail = (
            f"unexpected answer ({self.kind}); check the address of the service, "
            "and that client and service have the same version"
        )
        return _error(self.status, "Unexpected Answer", detail, (), self.request_id)


Operation = Generator[Request, Reply, T]
"""A call: requests come out of it, replies go in, and a value is returned."""


def error_from(problem: Any, status: int, request_id: str) -> ServiceError:
    """Return the error that a problem document describes (RFC 9457)."""
    detail = str(problem["detail"])
    if status == HTTPStatus.UNAUTHORIZED:
        detail += "; the client takes the key as key=... or from $FAIRCASCADE_KEY"
    errors = [FieldError(e["field"], e["message"]) for e in problem.get("errors") or ()]
    known_as = problem.get("request_id") or request_id
    return _error(status, problem.get("title") or _phrase(status), detail, errors, known_as)


def _error(
    status: int, title: str, detail: str, errors: Sequence[FieldError], request_id: str
) -> ServiceError:
    kind = ServiceUnavailable if status in UNAVAILABLE else ServiceError
    return kind(status, title, detail, errors, request_id)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # proxies have statuses of their own
        return "Unknown Status"
