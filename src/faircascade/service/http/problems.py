"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Protocol

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from faircascade.service.http.callers import CALLER
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.rate_limits import TooFast
from faircascade.service.http.validation_errors import FieldErrors, describe, field_error
from faircascade.service.messages import Reason, Refused
from faircascade.service.stores.base import StoreDown, StoreUnsure

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
REQUEST_ID = "faircascade.request_id"
"""Where a scope has the id of its request."""
STATUS = {Reason.INVALID: 422, Reason.UNKNOWN: 404, Reason.CONFLICT: 409}
RETRY_AFTER = {"Retry-After": "1"}
OVERLOADED = "there are more requests than can be answered in time; nothing was done, try again"
SLATES = ("/v1/recommendations", "/v1/feedback")
UNSURE_SLATE = "the store did not confirm the write; the slate may have been counted as shown"
UNSURE = "the store did not confirm the write; what was asked may be done, and can be asked again"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")

# Python gives these their names of before RFC 9110, or of after it, as old as it is.
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}


class Invalid(Exception):  # noqa: N818 - it says what the request is
    """A request breaks the rules of its schema."""

    def __init__(self, errors: FieldErrors) -> None:
        super().__init__(detail_of(errors))
        self.errors = errors


def document(status: int, detail: str, errors: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    """Return a `Problem` of the API."""
    return {
        "type": "about:blank",
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": errors,
    }


def refused(refusal: Refused, where: str) -> dict[str, Any]:
    """Return a refusal by the service as a problem; `where` goes before its field."""
    errors = [field_error(where + refusal.field, refusal.message)]
    return document(STATUS[refusal.reason], detail_of(errors), errors)


def detail_of(errors: Sequence[Mapping[str, str]]) -> str:
    """Return what is wrong in one line."""
    first = "{field} {message}".format(**errors[0])
    return first if len(errors) == 1 else f"{first}; and {len(errors) - 1} more, see errors"


def answer(
    request_id: str, problem: dict[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a request that went wrong."""
    return Response(
        orjson.dumps({**problem, "request_id": request_id}),
        problem["status"],
        {**(headers or {}), "Cache-Control": "no-store"},
        MEDIA_TYPE,
    )


def too_many_requests(request_id: str) -> Response:
    """Return the answer to a request that is not even begun."""
    return answer(request_id, document(503, OVERLOADED), RETRY_AFTER)


def too_fast(error: TooFast) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the problem of a caller who asks for more than it may, and its header."""
    return document(429, str(error)), {"Retry-After": str(error.retry_after)}


# what FastAPI is to do with exceptions


async def _on_refused(request: Request, error: Any) -> Response:
    where = "path." if error.field in request.path_params else "body."
    return _answer(request, refused(error, where))


async def _on_invalid(request: Request, error: Any) -> Response:
    return _answer(request, document(422, str(error), error.errors))


async def _on_parameters(request: Request, error: Any) -> Response:
    errors = describe(error.errors())
    return _answer(request, document(422, detail_of(errors), errors))


async def _on_store_down(request: Request, error: Any) -> Response:
    dependencies_of(request).metrics.store_errors.inc()
    log.warning("store is down", extra={"reason": str(error), "request_id": _id(request)})
    detail = "the store is unavailable; try again soon"
    return _answer(request, document(503, detail), RETRY_AFTER)


async def _on_store_unsure(request: Request, error: Any) -> Response:
    dependencies_of(request).metrics.store_errors.inc()
    log.warning("store is unsure", extra={"reason": str(error), "request_id": _id(request)})
    detail = UNSURE_SLATE if request.url.path.startswith(SLATES) else UNSURE
    return _answer(request, document(504, detail))


async def _on_too_fast(request: Request, error: Any) -> Response:
    dependencies_of(request).metrics.rate_limited(request.scope[CALLER].key)
    return _answer(request, *too_fast(error))


async def _on_http(request: Request, error: Any) -> Response:
    status, detail, headers = error.status_code, str(error.detail), error.headers
    if status == HTTPStatus.NOT_FOUND:
        detail = "unknown path; see /docs for the API"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(allowed_methods(request))
        detail = f"this path takes {allowed}, got {request.scope['method'][:20]}"
        headers = {"Allow": allowed}
    return _answer(request, document(status, detail), headers)


def allowed_methods(request: Request) -> list[str]:
    """Return the methods that some route takes at the path of a request."""
    routes = request.app.routes
    scopes = {method: {**request.scope, "method": method} for method in METHODS}
    found = {m for m, scope in scopes.items() for r in routes if r.matches(scope)[0] is Match.FULL}
    if "GET" in found:
        found.add("HEAD")
    return [method for method in METHODS if method in found]


def _answer(
    request: Request, problem: dict[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    return answer(_id(request), problem, headers)


def _id(request: Request) -> str:
    return str(request.scope.get(REQUEST_ID, ""))


HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    Refused: _on_refused,
    Invalid: _on_invalid,
    RequestValidationError: _on_parameters,
    StoreDown: _on_store_down,
    StoreUnsure: _on_store_unsure,
    TooFast: _on_too_fast,
    HTTPException: _on_http,
}


class Documented(Protocol):
    """What can be the body of an answer."""

    def document(self) -> dict[str, Any]: ...


def batch_result(answer: Documented | Refused, *, place: str, key: str) -> dict[str, Any]:
    """Return one result of a batch: the document under a key, or why there is none."""
    if isinstance(answer, Refused):
        problem = refused(answer, f"{place}.")
        return {"status": problem["status"], "problem": problem}
    return {"status": 200, key: answer.document()}
