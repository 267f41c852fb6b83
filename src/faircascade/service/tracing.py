"""Spans of OpenTelemetry for requests, scoring and calls of the store.

Nothing here is loaded unless traces are asked for, and what is not traced is not wrapped. Spans
name routes, policies and numbers, never users and items.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from faircascade.service.ranking import Scoring
from faircascade.service.scoring import RankedSlate, ScoringJob
from faircascade.service.service import Service
from faircascade.service.stores.base import Store
from faircascade.version import __version__

PATH = "/v1/traces"
"""Where a collector takes traces over HTTP, unless an address has a path of its own."""
TRACED_CALLS = frozenset(
    {
        *("begin_round", "record", "impressions", "learn", "cohorts", "user", "erase", "put_users"),
        *("put_items", "remove_items", "replace_meta", "widen", "ping", "size"),
    }
)
"""Methods of a store that have spans, if they are called for a request."""

_CONTEXT = TraceContextTextMapPropagator()
_PARENT = (b"traceparent", b"tracestate")


class Tracing:
    """Makes spans and sends them off."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self.tracer: Tracer = provider.get_tracer("faircascade", __version__)

    @classmethod
    def to(cls, url: str | None, *, worker: int | None = None) -> Tracing:
        """Send spans to a collector, to that of the environment if no address is given."""
        about: dict[str, Any] = {"service.version": __version__}
        if "OTEL_SERVICE_NAME" not in os.environ:
            about["service.name"] = "faircascade"
        if worker is not None:
            about["service.instance.id"] = str(worker)
        provider = TracerProvider(resource=Resource.create(about))
        exporter = OTLPSpanExporter(endpoint=None if url is None else endpoint_of(url))
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return cls(provider)

    def watch(self, service: Service) -> None:
        """Trace what a service does for requests."""
        service.watch(
            lambda store: cast(Store, TracedStore(store, self.tracer)),
            lambda score: _traced_scoring(score, self.tracer),
        )

    def stop(self) -> None:
        """Send off what is left; blocks."""
        self._provider.shutdown()


def endpoint_of(url: str) -> str:
    """Return where traces go.

    >>> endpoint_of("http://collector:4318"), endpoint_of("https://a.example/otlp/traces")
    ('http://collector:4318/v1/traces', 'https://a.example/otlp/traces')
    """
    return url if urlsplit(url).path.strip("/") else url.rstrip("/") + PATH


class TraceMiddleware:
    """A span for each request, within that of whoever sent it."""

    def __init__(self, app: ASGIApp, *, tracing: Tracing) -> None:
        self._app = app
        self._tracer = tracing.tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        given = {
            name.decode(): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in _PARENT
        }
        method = scope["method"]
        with self._tracer.start_as_current_span(
            method,
            context=_CONTEXT.extract(given),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
        ) as span:
            try:
                await self._app(scope, receive, answer)
            finally:
                route = getattr(scope.get("route"), "path_format", "")
                if route:
                    span.update_name(f"{method} {route}")
                    span.set_attribute("http.route", route)
                if status:
                    span.set_attribute("http.response.status_code", status)
                if status >= 500:
                    span.set_status(Status(StatusCode.ERROR))


class TracedStore:
    """A store whose calls have spans, where they are made for a request."""

    def __init__(self, store: Store, tracer: Tracer) -> None:
        self._store = store
        self._tracer = tracer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._traced(name, found) if name in TRACED_CALLS else found

    def _traced(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        async def traced(*args: Any, **options: Any) -> Any:
            if not trace.get_current_span().is_recording():
                return await call(*args, **options)
            attributes: Mapping[str, Any] = {"db.system": self._store.address_form.split(":")[0]}
            if args and isinstance(args[0], list | tuple):
                attributes = {**attributes, "faircascade.entries": len(args[0])}
            with self._tracer.start_as_current_span(
                f"store.{name}", kind=SpanKind.CLIENT, attributes=attributes
            ):
                return await call(*args, **options)

        return traced


def _traced_scoring(score: Scoring, tracer: Tracer) -> Scoring:
    async def traced(job: ScoringJob) -> list[RankedSlate]:
        if not trace.get_current_span().is_recording():
            return await score(job)
        attributes: dict[str, Any] = {
            "faircascade.policy": job.policy.name,
            "faircascade.users": len(job.users),
            "faircascade.pairs": job.size,
        }
        with tracer.start_as_current_span("score", attributes=attributes):
            return await score(job)

    return traced
