"""Routes with JSON bodies, and JSON responses."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import orjson
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from faircascade.service.http.admission import TICKET, Ticket
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.problems import Invalid
from faircascade.service.http.rate_limits import ALLOWANCE, Allowance
from faircascade.service.http.schemas.base import Batch
from faircascade.service.http.validation_errors import describe, errors_in, field_error
from faircascade.service.ids import Id

M = TypeVar("M", bound=BaseModel)

BODY = "faircascade.body"
"""Where a scope has the body of its request, once it is read."""
_ID = TypeAdapter(Id)
_HEADERS = {"Cache-Control": "no-store"}


class JSONRoute(APIRoute):
    """A route whose body, if it has one, is JSON; its endpoint takes (request, body, ...).

    FastAPI documents the body, and does not read it: Pydantic's own parser is stricter (no NaN, no
    text that is not Unicode, no endless nesting), and knows the limits of the service.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.body_field is not None:
            self.app = self.respond

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and send what the endpoint makes of it."""
        assert self.body_field is not None
        request = Request(scope, receive)
        model: Any = self.body_field.field_info.annotation
        check_path(request)
        body = scope[BODY] = await read(request, model)
        allowance: Allowance | None = scope.get(ALLOWANCE)
        if allowance is not None and isinstance(body, Batch):
            allowance.go_on(body.entries)
        response: Response = await self.endpoint(request, body, **request.path_params)
        await response(scope, receive, send)


def check_path(request: Request) -> None:
    """Raise what is wrong with the ids in a path."""
    for name, text in request.path_params.items():
        try:
            _ID.validate_python(text)
        except ValidationError as error:
            raise Invalid(describe(error.errors(), f"path.{name}")) from None


async def read(request: Request, model: type[M]) -> M:
    """Return the body of a request, or raise what is wrong with it."""
    kind = request.headers.get("content-type", "")
    text = await request.body()
    ticket: Ticket | None = request.scope.get(TICKET)
    if ticket is not None:
        ticket.arrive()
    if not text or text.isspace():
        raise Invalid([field_error("body", "is empty")])
    if not is_json(kind):
        got = f"got {kind[:80]!r}" if kind else "got a body without a type"
        raise HTTPException(415, f"Content-Type must be application/json, {got}")
    try:
        return model.model_validate_json(text, strict=True, context=dependencies_of(request).limits)
    except ValidationError as error:
        raise Invalid(errors_in(model, error)) from None


@lru_cache(maxsize=64)
def is_json(content_type: str) -> bool:
    """Return whether a Content-Type is that of JSON, which is UTF-8 whatever it says."""
    kind, _, parameters = content_type.lower().partition(";")
    charset = parameters.replace(" ", "").replace('"', "")
    return kind.strip() == "application/json" and charset in ("", "charset=utf-8", "charset=utf8")


@lru_cache(maxsize=64)
def accepts_json(accept: str) -> bool:
    """Return whether an Accept header allows JSON."""
    found = {}
    for part in accept.lower().split(","):
        kind, *parameters = (word.strip() for word in part.split(";"))
        found[kind] = not any(_is_zero(parameter) for parameter in parameters)
    for kind in ("application/json", "application/*", "*/*"):  # the most exact one decides
        if kind in found:
            return found[kind]
    return not accept.strip()


def _is_zero(parameter: str) -> bool:
    name, _, quality = parameter.partition("=")
    return name.strip() == "q" and not quality.strip().strip("0.")


def json_response(document: Any, status: int = 200) -> Response:
    """Return a JSON response that is not cached."""
    body = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, _HEADERS, "application/json")


def no_content() -> Response:
    """Return an empty response, 204."""
    return Response(None, 204, _HEADERS)
