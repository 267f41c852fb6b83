"""How the service does: its requests, its store, the changes of its policies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faircascade.service.http.schemas.exposure import Window
from faircascade.service.messages import Model


class Seconds(Model):
    """Within how many seconds answers came."""

    p50: float = Field(description="Half of them.")
    p99: float = Field(description="99% of them.")


class TrafficMoment(Model):
    """The requests of one step."""

    since: str
    until: str
    recommendations: int = Field(description="Requests for slates; a batch is one.")
    feedback: int = Field(description="Requests with feedback; a batch is one.")
    other: int = Field(description="Other requests of the API.")
    errors: int = Field(description="Answered with 5xx, those refused at once aside.")
    refused: int = Field(description="Refused as there were too many: 429, or 503 at once.")
    seconds: Seconds | None = Field(
        description="Of requests for one slate; null if there was none."
    )


class Traffic(Model):
    window: Window
    step_seconds: int = Field(description="Length of a step.")
    moments: list[TrafficMoment] = Field(description="Oldest first; the last one is not over yet.")


class StoreHealth(Model):
    kind: str = Field(description="As the address of the store begins.")
    status: str = Field(description='"ok", or what is wrong.')
    seconds: float | None = Field(description="That a write took; null if it failed.")
    data_bytes: int | None = Field(description="Size; null if the store cannot tell.")
    log_bytes: int | None = Field(
        description="Size of what is written ahead (SQLite) or of the append-only file (Redis)."
    )
    counts_behind_seconds: float = Field(
        description="For how long events may not have been counted."
    )
    durability: str | None = Field(description="How acknowledged feedback could be lost, if so.")
    workers: int = Field(description="Processes that take requests.")


TrafficWindow = Literal["1h", "24h", "7d"]


class TrafficQuery(Model):
    window: TrafficWindow = Field("24h", description="The last hour or days.")
