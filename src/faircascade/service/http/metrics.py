"""Counters and gauges for Prometheus; every application has its own, and workers have one set."""

from __future__ import annotations

import asyncio
import os
from math import nan

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    values,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from faircascade.service.activity import OUTCOMES
from faircascade.service.exposure.fairness import MEASURES, fairness
from faircascade.service.http.admission import PATIENCE
from faircascade.service.http.process_metrics import ProcessesCollector, WorkersCollector
from faircascade.service.http.traffic import Traffic
from faircascade.service.service import Service
from faircascade.service.worker import Worker
from faircascade.version import __version__

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
WINDOWS = ("1h", "all")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
"""Others are counted together: a label for each would let anybody fill the memory."""


def share_values(worker: Worker) -> None:
    """Let all counters that are made from now on go into files that every worker reads.

    A worker that is started again goes on with the file of its number, so counters never fall.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = worker.folder
    number = worker.number
    values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]


class Metrics:
    """What the service does, in numbers: those of all workers, whichever is asked."""

    def __init__(self, service: Service, worker: Worker | None = None) -> None:
        self._service = service
        self.traffic = Traffic(service.clock, worker)
        registry = CollectorRegistry()
        self.registry = shown = registry
        if worker is None:
            ProcessCollector(registry=shown)
        else:
            self.registry = shown = CollectorRegistry()
            MultiProcessCollector(shown, worker.folder)  # type: ignore[no-untyped-call]
            shown.register(ProcessesCollector(worker))
        shown.register(WorkersCollector(worker))
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
        self._activity = {
            "recommendations": Counter(
                "faircascade_recommendations", "Slates handed out.", registry=registry
            ),
            "positions": Counter(
                "faircascade_positions", "Positions of slates handed out.", registry=registry
            ),
            "unshown": Counter(
                "faircascade_positions_not_shown",
                "Positions of which answers say that they were not shown.",
                registry=registry,
            ),
            "no_clicks": Counter(
                "faircascade_no_clicks",
                "Slates that were learned as not clicked, as no feedback came in time.",
                registry=registry,
            ),
            "shadows_dropped": Counter(
                "faircascade_shadow_slates_dropped",
                "Slates for which a policy in the shadow did not rank, as shadows took too long.",
                registry=registry,
            ),
            "labels_ignored": Counter(
                "faircascade_labels_ignored",
                "Labels of users that were ignored, as there are too many.",
                registry=registry,
            ),
            "reward": Counter(
                "faircascade_reward",
                "Reward of answers that were learned, 1 for a click unless rewards are graded.",
                registry=registry,
            ),
            "clicks": Counter("faircascade_clicks", "Clicks that were learned.", registry=registry),
            "clicked": Counter(
                "faircascade_clicked", "Answers with a click that were learned.", registry=registry
            ),
        }
        answers = Counter(
            "faircascade_answers",
            "Answers by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self._activity.update({outcome: answers.labels(outcome) for outcome in OUTCOMES})
        service.activity.follow(lambda name, count: self._activity[name].inc(count))
        self._log_lag = Gauge(
            "faircascade_event_log_lag_seconds",
            "Seconds for which something may not be in the event log yet; NaN without one.",
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self._log_lag.set(nan)
        self._log_rows = Counter(
            "faircascade_event_log_rows",
            "Impressions with a known outcome that were written to the event log.",
            registry=registry,
        )
        service.log_status.follow(self._logged)
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
            "faircascade_catalogue_items",
            "Items that can be recommended.",
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        gauge = Gauge(
            "faircascade_exposure_fairness",
            "How evenly exposure is shared, 1 is evenly; NaN if nothing was shown.",
            ["window", "notion"],
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self._fairness = {
            window: [gauge.labels(window, notion) for notion in MEASURES] for window in WINDOWS
        }
        self._kill_switch = Gauge(
            "faircascade_kill_switch",
            "1 while everybody is served what the kill switch says, else 0.",
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self._build = Info("faircascade_build", "What is running.", registry=shown)
        self._show_policy()
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
        self.traffic.answered(route, status, seconds)

    def shed(self, route: str) -> None:
        """Count a request that was refused without any work; times of others are not mixed up."""
        self._shed.labels(route).inc()
        self._requests.labels(route, "POST", 503).inc()
        self.traffic.refused(route)

    def rate_limited(self, key: str | None) -> None:
        """Count a request of a key, or of an address, that sends too many."""
        self._rate_limited.labels(key or "").inc()

    def _logged(self, rows: int) -> None:
        """Count what was written to the event log."""
        self._log_rows.inc(rows)
        self._show_log()

    def _show_log(self) -> None:
        """Say how far the event log has come, if this process writes it."""
        lag = self._service.log_status.lag(self._service.clock())
        if lag is not None:
            self._log_lag.set(lag)

    def _show_policy(self) -> None:
        """Say what is served now: operators may change it at any time."""
        service = self._service
        self._kill_switch.set(service.lineup.stopped is not None)
        self._build.info(
            {
                "version": __version__,
                "policy": service.policy.name,
                "policy_version": service.version,
            }
        )

    async def text(self) -> bytes:
        """Return everything in Prometheus' format, as it is now."""
        service = self._service
        self._show_policy()
        self._show_log()
        recipients = service.catalogue.recipients
        self._items.set(len(service.catalogue))
        for window, gauges in self._fairness.items():
            counts = service.exposure.snapshot(window).counts
            values = await asyncio.to_thread(fairness, counts, recipients)  # slow for many items
            for gauge, value in zip(gauges, values.tolist(), strict=True):
                gauge.set(value)
        return generate_latest(self.registry)
