"""Spans of OpenTelemetry: of requests, scoring and the store, within those of clients."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is missing")

from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from faircascade.client import Client as ServiceClient
from faircascade.service.server import traces_wanted
from faircascade.service.tracing import Tracing
from tests.service.http.applications import Client, app_of, calling, new_service
from tests.service.server_process import running
from tests.service.test_serve import CSV

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "user-whom-nobody-may-know"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traced(tmp_path: Path, spans: InMemorySpanExporter) -> Iterator[Client]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    service, tracing = new_service(tmp_path), Tracing(provider)
    tracing.watch(service)
    with calling(app_of(service, tracing=tracing)) as client:
        spans.clear()
        yield client


def by_name(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def test_a_request_has_a_span_with_its_scoring_and_its_store_calls(
    traced: Client, spans: InMemorySpanExporter
) -> None:
    headers = {"traceparent": PARENT}
    body = {"user": SECRET, "k": 3}
    answer = traced.request("POST", "/v1/recommendations", json=body, headers=headers)
    assert answer.status_code == 200
    found = by_name(spans)
    assert set(found) == {
        "POST /v1/recommendations",
        "store.begin_round",
        "score",
        "store.record",
    }
    request = found.pop("POST /v1/recommendations")
    assert f"{request.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{request.parent.span_id:016x}" == PARENT.split("-")[2]
    assert request.attributes["http.response.status_code"] == 200
    assert all(span.parent.span_id == request.context.span_id for span in found.values())
    assert found["score"].attributes["faircascade.pairs"] == 12
    assert found["store.record"].attributes["faircascade.entries"] == 1
    assert SECRET not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_feedback_and_refusals_are_traced_by_the_template_of_their_path(
    traced: Client, spans: InMemorySpanExporter
) -> None:
    traced.learn(traced.recommend()["impression_id"])
    traced.get(f"/v1/users/{SECRET}")
    found = by_name(spans)
    assert {"POST /v1/feedback", "store.impressions", "store.learn"} <= set(found)
    missing = found["GET /v1/users/{user}"]
    assert missing.attributes["http.response.status_code"] == 404
    assert SECRET not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_work_beside_requests_makes_no_spans(traced: Client, spans: InMemorySpanExporter) -> None:
    service = traced.app.state.dependencies.service
    traced.run(service.exposure.catch_up, service.store)
    traced.run(service.drop_expired)
    traced.run(service.store.ping)
    assert spans.get_finished_spans() == ()


@pytest.mark.parametrize(
    ("url", "environment", "wanted"),
    [
        (None, {}, False),
        ("http://collector", {}, True),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector"}, True),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector"}, True),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "OTEL_TRACES_EXPORTER": "none"}, False),
        ("http://collector", {"OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_traces_are_made_if_they_were_asked_for(
    url: str | None, environment: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ENDPOINT", "TRACES_ENDPOINT"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert traces_wanted(url) is wanted


def test_nothing_of_it_is_loaded_without_being_asked_for() -> None:
    program = """
import sys
import faircascade.client, faircascade.service.http, faircascade.service.server
from faircascade.client.trace_context import trace_headers
assert trace_headers() == {}
parts = "opentelemetry.sdk", "opentelemetry.exporter"
sys.exit(any(name.startswith(parts) for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class Collector(HTTPServer):
    """Takes spans over the loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taken)
        self.spans: list[Any] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Taken(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        told = ExportTraceServiceRequest.FromString(self.rfile.read(length))
        assert self.path == "/v1/traces"
        assert isinstance(self.server, Collector)
        for resource in told.resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert names["service.name"] == "faircascade"
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    yield server
    server.shutdown()
    server.server_close()


def test_a_client_and_a_service_are_in_one_trace(tmp_path: Path, collector: Collector) -> None:
    """The last spans are sent when the service ends."""
    (tmp_path / "items.csv").write_text(CSV)
    tracer = TracerProvider().get_tracer("shop")
    arguments = ("--items", "items.csv", "--traces", collector.url)
    with running(*arguments, folder=tmp_path, env={"OTEL_BSP_SCHEDULE_DELAY": "60000"}) as server:
        with ServiceClient(server.url) as client, tracer.start_as_current_span("page") as span:
            client.recommend("ann", k=2)
        httpx.post(f"{server.url}/v1/recommendations", json={"user": "bob"})
        assert server.terminate() == 0
    mine = span.get_span_context()
    found = [one for one in collector.spans if one.name == "POST /v1/recommendations"]
    assert len(found) == 2
    (ours,) = [one for one in found if int.from_bytes(one.trace_id, "big") == mine.trace_id]
    assert int.from_bytes(ours.parent_span_id, "big") == mine.span_id
    assert "Traceback" not in server.logs


def test_a_collector_that_is_away_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(CSV)
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }
    with running("--items", "items.csv", folder=tmp_path, env=environment) as server:
        answer = httpx.post(f"{server.url}/v1/recommendations", json={"user": "bob"})
        assert answer.status_code == 200
        assert server.terminate() == 0
    assert trace.get_current_span().is_recording() is False
