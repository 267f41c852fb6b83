"""The statuses of operations, as the API reference tells them."""

from __future__ import annotations

from typing import Any

from faircascade.service.http.problems import MEDIA_TYPE

Responses = dict[int | str, dict[str, Any]]

_MEANINGS = {
    401: "No key was given, or none that is known.",
    403: "The key may only read.",
    404: "What it speaks of is not there, or not any more.",
    406: "`Accept` leaves out JSON.",
    409: "It contradicts what happened before, or what there is; nothing changed.",
    413: "The body is too large.",
    415: "The body is not `application/json`.",
    421: "The service has no keys, and `Host` names another machine.",
    422: "Some field breaks a rule: `errors` names each; nothing changed.",
    431: "The header fields are too large.",
    500: "Something is wrong with the service itself; its log has the `request_id`.",
    503: "The store cannot be reached now; the same request may succeed later.",
    504: "The store did not say whether it counted the list as shown; it may have.",
}
_HEADERS = {
    401: {"WWW-Authenticate": "How to give a key."},
    503: {"Retry-After": "Seconds to wait."},
}
ALWAYS = (401, 406, 421, 431, 500)
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
