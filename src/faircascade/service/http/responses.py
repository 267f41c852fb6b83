"""Error responses of operations, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from faircascade.service.http.problems import MEDIA_TYPE

Responses = dict[int | str, dict[str, Any]]

_MEANINGS = {
    400: "The request is not HTTP, or has several `Host` fields.",
    401: "The key is missing or unknown.",
    403: "The key may only read, or not change policies.",
    404: "Not found, or not kept any more.",
    406: "`Accept` excludes JSON.",
    409: "It contradicts earlier feedback, the catalogue or what is served; nothing changed.",
    413: "The body is too large.",
    415: "The body is not `application/json`.",
    421: "The service runs without keys, and `Host` names another machine.",
    422: "A field breaks a rule; `errors` names each. Nothing changed.",
    429: "The key, or the address, sends more a second than it may; nothing was done, try again.",
    431: "The header fields are too large.",
    500: "Internal error; the log of the service has the `request_id`.",
    503: "The store is unavailable, or there are too many requests; nothing was done, try again.",
    504: "The store did not confirm the write: the slate may have been counted as shown, or the "
    "change may have been made; a change can be asked for again.",
}
_HEADERS = {
    401: {"WWW-Authenticate": "How to give a key."},
    429: {"Retry-After": "Seconds to wait."},
    503: {"Retry-After": "Seconds to wait."},
}
ALWAYS = (400, 401, 406, 421, 429, 431, 500)
WRITING = (403, 413, 415, 422)
STORE = (503,)
UNSURE = (504,)


def problem_responses(*statuses: int) -> Responses:
    """Return descriptions of statuses that come with a problem document."""
    return {status: _problem(status) for status in sorted(statuses)}


def _problem(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": _MEANINGS[status],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in _HEADERS:
        described["headers"] = {
            name: {"description": meaning, "schema": {"type": "string"}}
            for name, meaning in _HEADERS[status].items()
        }
    return described
