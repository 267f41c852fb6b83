"""The application: a service behind HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from faircascade.service.audit_log import AuditLog
from faircascade.service.experiment_reports import Reports
from faircascade.service.http.access import Access
from faircascade.service.http.admission import Admission
from faircascade.service.http.audit import Auditor
from faircascade.service.http.bodies import Bodies
from faircascade.service.http.connection_pool import ConnectionPool
from faircascade.service.http.dependencies import Dependencies
from faircascade.service.http.metrics import Metrics
from faircascade.service.http.middleware import RequestMiddleware
from faircascade.service.http.openapi import ABOUT, TAGS, description
from faircascade.service.http.problems import HANDLERS
from faircascade.service.http.readiness import StoreProbe
from faircascade.service.http.routes import ROUTERS
from faircascade.service.http.shared_rate_limits import SharedRateLimits
from faircascade.service.keys import Keys
from faircascade.service.limits import Limits
from faircascade.service.maintenance import follow_policies, maintain, reclaim_numbers
from faircascade.service.service import Service
from faircascade.service.worker import Worker
from faircascade.version import __version__

if TYPE_CHECKING:
    from faircascade.service.tracing import Tracing

log = logging.getLogger(__name__)

Beside = Callable[[Service], Coroutine[Any, Any, None]]
"""A background task; it runs until it is cancelled."""


def create_app(
    service: Service,
    *,
    keys: Keys | None = None,
    beside: Sequence[Beside] = (),
    access_log: bool = False,
    audit_log: AuditLog | None = None,
    host: str | None = None,
    worker: Worker | None = None,
    tracing: Tracing | None = None,
) -> FastAPI:
    """Return the application of a service.

    Its lifespan starts the service unless it has started already, runs maintenance and the tasks in
    `beside`, and stops all of it.
    Changes are noted in the audit log, or else in the log of the service.
    One of several workers counts and limits together with the others.
    Without keys everybody may do everything. With a `host`, only requests to that host or to
    this machine are answered, so that no page in a browser can reach a service that has no keys.
    """
    audit_log = audit_log or AuditLog()
    app = FastAPI(
        title="faircascade",
        version=__version__,
        description=ABOUT,
        openapi_tags=TAGS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lambda _: _running(
            service, [maintain, follow_policies, reclaim_numbers, *beside], audit_log
        ),
        exception_handlers=HANDLERS,  # type: ignore[arg-type]
    )
    settings, metrics, limits = service.settings, Metrics(service, worker), Limits.of(service)
    admission = Admission()
    rates = None if worker is None else SharedRateLimits(Path(worker.folder, "rate-limits"))
    if worker is not None:
        service.log_status.share(Path(worker.folder))
    app.state.dependencies = Dependencies(
        service=service,
        metrics=metrics,
        limits=limits,
        store_probe=StoreProbe(service.store),
        connections=ConnectionPool(settings),
        admission=admission,
        reports=Reports(service),
        worker=worker,
    )
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    if tracing is not None:
        from faircascade.service.tracing import TraceMiddleware  # an extra

        app.add_middleware(TraceMiddleware, tracing=tracing)
    app.add_middleware(
        RequestMiddleware,
        metrics=metrics,
        access=Access(keys, settings, rates),
        auditor=Auditor(audit_log),
        bodies=Bodies(largest=settings.max_body, together=settings.max_bodies),
        admission=admission,
        access_log=access_log,
        host=host,
    )
    app.openapi = cache(  # type: ignore[method-assign]
        lambda: description(app, limits, keys=keys is not None)
    )
    return app


@asynccontextmanager
async def _running(
    service: Service, beside: Sequence[Beside], audit_log: AuditLog
) -> AsyncIterator[None]:
    if not service.started:
        await service.start()
    tasks = [asyncio.create_task(work(service)) for work in beside]
    for task in tasks:
        task.add_done_callback(_tell)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await audit_log.stop()
        await service.stop()


def _tell(task: asyncio.Task[None]) -> None:
    """Log a background task that ended by itself."""
    if not task.cancelled():
        log.error("a background task ended", exc_info=task.exception())
