"""The OpenAPI description."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from faircascade.service.http import schemas
from faircascade.service.http.access import OPEN
from faircascade.service.limits import Limits, fill_in

ABOUT = """Recommend items, learn from what users click, and share exposure fairly.

- Ask for a slate with `POST /v1/recommendations` and show it.
- Report what was clicked with `POST /v1/feedback`.
- See who gets exposure with `GET /v1/exposure`.

Bodies are JSON. Errors are problem documents (RFC 9457): `detail` says what is wrong, `errors`
names each field. Every answer has an `X-Request-ID`, your own if you sent one.

A 503 says that nothing was done: there are too many requests, connections or bodies, or the store
is unavailable. Try again after `Retry-After` seconds. Whoever has more than 16 requests waiting on
one connection gets 429, and so does whoever sends more a second than it may."""

TAGS = [
    {"name": "recommendations", "description": "Slates for users."},
    {"name": "feedback", "description": "What users did with their slates."},
    {"name": "items", "description": "The catalogue: what can be recommended."},
    {"name": "users", "description": "What is kept about users."},
    {"name": "exposure", "description": "How often items were shown, and how fair that is."},
    {"name": "policies", "description": "What is served: named policies and the kill switch."},
    {"name": "experiments", "description": "Policies compared on users, watched at any time."},
    {"name": "operation", "description": "The service itself."},
]
KEY = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key, if the service was started with keys. A read key may only GET; "
    "policies are changed with the key of an administrator.",
}


def description(app: FastAPI, limits: Limits, *, keys: bool) -> dict[str, Any]:
    """Return the OpenAPI document, with the limits of this service."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version=app.openapi_version,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
        separate_input_output_schemas=False,
    )
    _complete_examples(document["components"]["schemas"])
    document["components"]["securitySchemes"] = {"key": KEY}
    if keys:
        document["security"] = [{"key": []}]
        for path in OPEN & document["paths"].keys():
            for operation in document["paths"][path].values():
                operation["security"] = []
    fill_in(document, limits)
    return document


def _complete_examples(found: dict[str, Any]) -> None:
    """Give examples their nulls back, which FastAPI leaves out."""
    for name, schema in found.items():
        extra = getattr(getattr(schemas, name, None), "model_config", {}).get("json_schema_extra")
        if extra is not None:
            schema["examples"] = deepcopy(extra["examples"])  # limits are filled in
