"""Errors."""

from __future__ import annotations

from pydantic import Field

from faircascade.service.messages import Model, example


class FieldError(Model):
    field: str = Field(description='Such as "body.k" or "query.window".')
    message: str = Field(description="The rule and the value, to be read after the field.")


class Problem(Model):
    """An error (RFC 9457)."""

    model_config = example(
        {
            "type": "about:blank",
            "title": "Unprocessable Content",
            "status": 422,
            "detail": "body.k must be at least 1, got 0",
            "request_id": "b7c1d0",
            "errors": [{"field": "body.k", "message": "must be at least 1, got 0"}],
        }
    )
    type: str = "about:blank"
    title: str = Field(description="What the status means.")
    status: int
    detail: str = Field(description="What is wrong, in one line.")
    request_id: str | None = Field(None, description="As in `X-Request-ID`, and in the log.")
    errors: list[FieldError] = Field(default=[], description="Every field that breaks a rule.")
