"""What routes and connections need: the service, its metrics and its limits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request

from faircascade.service.experiment_reports import Reports
from faircascade.service.http.admission import Admission
from faircascade.service.http.connection_pool import ConnectionPool
from faircascade.service.http.metrics import Metrics
from faircascade.service.http.readiness import StoreProbe
from faircascade.service.limits import Limits
from faircascade.service.service import Service
from faircascade.service.worker import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The service behind an application, and what counts its work."""

    service: Service
    metrics: Metrics
    limits: Limits
    store_probe: StoreProbe
    connections: ConnectionPool
    admission: Admission
    reports: Reports
    worker: Worker | None = None
    page: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a page of the catalogue is written, which takes milliseconds: others come in
    between."""


def dependencies_of(request: Request) -> Dependencies:
    """Return the dependencies of the application that a request came to."""
    found: Dependencies = request.app.state.dependencies
    return found
