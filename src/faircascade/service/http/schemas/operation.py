"""The service itself."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from faircascade.service.messages import Model


class PolicyDescription(Model):
    name: str = Field(description="As on the command line.")
    label: str = Field(description="As in tables and figures.")
    version: str = Field(description="Changes with any parameter.")
    parameters: dict[str, Any] = Field(description="Those of its parts have dotted names.")


class Status(Model):
    status: Literal["ok"]


class Readiness(Model):
    status: Literal["ready", "not ready"]
    checks: dict[str, str] = Field(description='"ok", or what is wrong.')
