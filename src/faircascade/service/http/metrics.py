"""Counters and gauges for Prometheus; every application has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from math import nan

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from faircascade.service.activity import Activity
from faircascade.service.exposure.fairness import MEASURES, fairness
from faircascade.service.http.admission import PATIENCE
from faircascade.service.service import Service
from faircascade.version import __version__

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
WINDOWS = ("1h", "all")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
"""Others are counted together: a label for each would let anybody fill the memory."""


class ActivityCollector(Collector):
    """What the service did, for HTTP, the demo and programs alike."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity

    def collect(self) -> Iterator[Metric]:
        """Return the counts as they are now."""
        activity = self._activity
        yield _counter("recommendations", "Slates handed out.", activity.recommendations)
        answers = CounterMetricFamily(
            "faircascade_answers", "Answers by what became of them.", labels=["outcome"]
        )
        for outcome, count in activity.answers.items():
            answers.add_metric([outcome], count)
        yield answers
        yield _counter("clicks", "Clicks that were learned.", activity.clicks)
        yield _counter("clicked", "Answers with a click that were learned.", activity.clicked)


class EventLogCollector(Collector):
    """How far the event log has come, if this service writes it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Return it as it is now."""
        status = self._service.log_status
        lag = status.lag(self._service.clock())
        what = "Seconds for which something may not be in the event log yet; NaN without one."
        value = nan if lag is None else lag
        yield GaugeMetricFamily("faircascade_event_log_lag_seconds", what, value=value)
        what = "Impressions with a known outcome that were written to the event log."
        yield _counter("event_log_rows", what, status.rows)


def _counter(name: str, meaning: str, value: int) -> Metric:
    return CounterMetricFamily(f"faircascade_{name}", meaning, value=value)


class Metrics:
    """What the service does, in numbers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "faircascade_http_requests",
            "Requests that were answered.",
            ["route", "method", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "faircascade_http_request_seconds",
            "Seconds from the head of a request to the end of its answer.",
            ["route", "method"],
            buckets=SECONDS,
            registry=registry,
        )
        registry.register(ActivityCollector(service.activity))
        registry.register(EventLogCollector(service))
        self.store_errors = Counter(
            "faircascade_store_errors", "Requests that the store failed.", registry=registry
        )
        self._shed = Counter(
            "faircascade_shed",
            "Requests that were answered with 503 at once, as there were too many.",
            ["route"],
            registry=registry,
        )
        for path in PATIENCE:
            self._shed.labels(path)
        self._rate_limited = Counter(
            "faircascade_rate_limited",
            "Requests that were answered with 429, as their key or address sent too many.",
            ["key"],
            registry=registry,
        )
        self._rate_limited.labels("")
        self.refused_connections = Counter(
            "faircascade_connections_refused",
            "Connections that were answered with 503 and closed, as there were too many.",
            registry=registry,
        )
        self._items = Gauge(
            "faircascade_catalogue_items", "Items that can be recommended.", registry=registry
        )
        gauge = Gauge(
            "faircascade_exposure_fairness",
            "How evenly exposure is shared, 1 is evenly; NaN if nothing was shown.",
            ["window", "notion"],
            registry=registry,
        )
        self._fairness = {
            window: [gauge.labels(window, notion) for notion in MEASURES] for window in WINDOWS
        }
        build = Info("faircascade_build", "What is running.", registry=registry)
        build.info(
            {
                "version": __version__,
                "policy": service.policy.name,
                "policy_version": service.version,
            }
        )
        self._requests_of: dict[tuple[str, str, int], Counter] = {}
        self._seconds_of: dict[tuple[str, str], Histogram] = {}

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request by the template of its path."""
        if method not in METHODS:
            method = "other"
        counter = self._requests_of.get((route, method, status))
        if counter is None:
            counter = self._requests.labels(route, method, status)
            self._requests_of[route, method, status] = counter
        counter.inc()
        histogram = self._seconds_of.get((route, method))
        if histogram is None:
            histogram = self._seconds.labels(route, method)
            self._seconds_of[route, method] = histogram
        histogram.observe(seconds)

    def shed(self, route: str) -> None:
        """Count a request that was refused without any work; times of others are not mixed up."""
        self._shed.labels(route).inc()
        self._requests.labels(route, "POST", 503).inc()

    def rate_limited(self, key: str | None) -> None:
        """Count a request of a key, or of an address, that sends too many."""
        self._rate_limited.labels(key or "").inc()

    async def text(self) -> bytes:
        """Return everything in Prometheus' format, as it is now."""
        service = self._service
        recipients = service.catalogue.recipients
        self._items.set(len(service.catalogue))
        for window, gauges in self._fairness.items():
            counts = service.exposure.snapshot(window).counts
            values = await asyncio.to_thread(fairness, counts, recipients)  # slow for many items
            for gauge, value in zip(gauges, values.tolist(), strict=True):
                gauge.set(value)
        return generate_latest(self.registry)
