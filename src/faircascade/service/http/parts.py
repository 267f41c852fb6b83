"""What the routes work with."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from faircascade.service.core import Service
from faircascade.service.http.limits import Limits
from faircascade.service.http.metrics import Metrics
from faircascade.service.http.pulse import Pulse


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The service behind an application, and what counts its work."""

    service: Service
    metrics: Metrics
    limits: Limits
    pulse: Pulse


def parts_of(request: Request) -> Parts:
    """Return the parts of the application that a request came to."""
    parts: Parts = request.app.state.parts
    return parts
