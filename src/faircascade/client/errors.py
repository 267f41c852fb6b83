"""What can go wrong between a client and the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field of a request."""

    field: str
    """Such as "body.k" or "query.window"."""
    message: str


class ServiceError(Exception):
    """The service refused a call, or something else answered in its place."""

    def __init__(
        self,
        status: int | None,
        title: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        request_id: str | None = None,
    ) -> None:
        super().__init__(status, title, detail, tuple(errors), request_id)
        self.status = status
        """Of the HTTP answer; None if there was none."""
        self.title = title
        self.detail = detail
        self.errors = tuple(errors)
        """One for each field that is wrong, if the service named any."""
        self.request_id = request_id
        """Under which the service's log has the call."""

    def __str__(self) -> str:
        status = "" if self.status is None else f"{self.status} "
        request = "" if self.request_id is None else f" (request {self.request_id})"
        return f"{status}{self.title}: {self.detail}{request}"


class ServiceUnavailable(ServiceError):  # noqa: N818 - it says what is the matter
    """The service cannot be reached or cannot answer now; the same call may succeed later."""
