"""The trace that a program is in, as a service is told of it (W3C traceparent)."""

from __future__ import annotations

import sys


def trace_headers() -> dict[str, str]:
    """Return header fields that name the current span; none if the program makes no traces."""
    if "opentelemetry.trace" not in sys.modules:  # who makes traces has loaded it
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers
