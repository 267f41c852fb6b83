"""Health, readiness, metrics, the policy, and the life of the application."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from faircascade import registry
from faircascade.policies import Bandit
from faircascade.service.http import readiness
from faircascade.service.http.routes import operation
from faircascade.service.http.schemas import PolicyDescription, Readiness
from faircascade.service.messages import RecommendationRequest
from faircascade.service.service import Service
from faircascade.service.stores import sqlite_file
from faircascade.service.stores.base import StoreDown, StoreLost
from faircascade.version import __version__
from tests.service.http.applications import Client, app_of, calling, new_service
from tests.service.in_process import SERVED


def readings(client: Client) -> dict[tuple[str, ...], float]:
    """Return all metrics by name and the values of their labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
    }


# readiness


def test_a_service_with_items_and_a_store_is_ready(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "ready", "checks": {"service": "ok", "store": "ok", "catalogue": "ok"}},
    )


def test_a_service_without_items_lives_and_is_not_ready(tmp_path: Path) -> None:
    with calling(app_of(new_service(tmp_path), items=0)) as client:
        assert client.get("/healthz").status_code == 200
        answer = client.get("/readyz")
    assert answer.status_code == 503
    found = Readiness.model_validate(answer.json())
    assert (found.status, found.checks["catalogue"]) == ("not ready", "there are no items yet")


def test_a_store_that_is_down_or_silent_is_not_ready(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down() -> None:
        raise StoreDown("/secret/place: disk I/O error")

    async def silent() -> None:
        await asyncio.Event().wait()

    async def lost() -> None:
        raise StoreLost("/secret/place: was replaced", advice="its file was replaced; restart")

    monkeypatch.setattr(readiness, "TIMEOUT", 0.01)
    monkeypatch.setattr(readiness, "REUSE_SECONDS", 0.0)
    for ping, words in (
        (down, "is unavailable"),
        (silent, "did not answer within"),
        (lost, "its file was replaced; restart"),
    ):
        monkeypatch.setattr(service.store, "ping", ping)
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"]["store"].startswith(words)
        assert "secret" not in answer.text


def test_the_service_answers_while_another_program_locks_its_file(
    client: Client, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "REUSE_SECONDS", 0.0)

    async def meanwhile() -> list[int]:
        wanted = asyncio.create_task(service.recommend([RecommendationRequest(user="ann", k=3)]))
        await asyncio.sleep(0)
        found = [(await client.ask("GET", path)).status_code for path in ("/healthz", "/readyz")]
        assert not wanted.done()
        return found

    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with monkeypatch.context() as patch:
            patch.setattr(readiness, "TIMEOUT", 0.01)
            assert client.run(meanwhile) == [200, 503]
            patch.setattr(sqlite_file, "PATIENCE", 0.0)
            answer = client.post("/v1/recommendations", {"user": "ann", "k": 3})
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    client.recommend("ann")
    assert client.get("/readyz").status_code == 200


def test_a_store_that_may_forget_says_so_and_is_ready(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.store, "durability", "switch on appendonly", raising=False)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"]["durability"] == "switch on appendonly"


# metrics


def test_requests_are_counted_by_template_and_timed(client: Client) -> None:
    for path in ("/v1/items/a", "/v1/items/b", "/v1/items/zz", "/nothing", "/nowhere"):
        client.get(path)
    client.request("BREW", "/v1/items/a")
    found = readings(client)
    requests = {key[1:]: value for key, value in found.items() if key[0].endswith("requests_total")}
    assert requests == {
        ("GET", "/v1/items/{item}", "200"): 2,
        ("GET", "/v1/items/{item}", "404"): 1,
        ("GET", "unmatched", "404"): 2,
        ("other", "/v1/items/{item}", "405"): 1,
    }
    assert found["faircascade_http_request_seconds_count", "GET", "/v1/items/{item}"] == 3


def test_lists_answers_and_clicks_are_counted(client: Client) -> None:
    name, other = (client.recommend(user)["impression_id"] for user in ("ann", "bob"))
    requests = [{"user": "cas"}, {"user": "dan", "candidates": ["nothing"]}]
    client.post("/v1/recommendations/batch", {"requests": requests})
    for position in (1, 1, 2, 99):
        client.learn(name, clicked_position=position)
    feedback = [
        {"impression_id": other, "clicked_positions": [1, 3]},
        {"impression_id": "1-nothing"},
    ]
    client.post("/v1/feedback/batch", {"feedback": feedback})
    found = readings(client)
    assert found["faircascade_recommendations_total",] == 3
    assert (found["faircascade_clicks_total",], found["faircascade_clicked_total",]) == (3, 2)
    outcomes = {
        key[1]: value for key, value in found.items() if key[0] == "faircascade_answers_total"
    }
    assert outcomes == {"learned": 2, "repeated": 1, "conflict": 1, "unknown": 1, "invalid": 1}


def test_exposure_and_what_runs_are_told(client: Client, service: Service) -> None:
    client.recommend(k=3)
    client.run(service.exposure.catch_up, service.store)
    found = readings(client)
    for window in ("1h", "all"):
        assert found["faircascade_exposure_fairness", "coverage", window] == 3 / 12
    assert found["faircascade_catalogue_items",] == 12
    assert found["faircascade_build_info", "ealinucb", service.version, __version__] == 1


def test_two_applications_count_apart(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    apps = [app_of(new_service(folder)) for folder in folders]
    with calling(apps[0]) as one, calling(apps[1]) as two:
        one.recommend()
        assert readings(one)["faircascade_recommendations_total",] == 1
        assert readings(two)["faircascade_recommendations_total",] == 0


# the policy


@pytest.mark.parametrize("name", SERVED)
def test_every_policy_can_be_described(tmp_path: Path, name: str) -> None:
    service = new_service(tmp_path, policy=registry.build("policy", name))
    with calling(app_of(service)) as client:
        found = PolicyDescription.model_validate(client.get("/v1/policy").json(), strict=True)
        client.recommend()
    assert (found.name, found.label) == (name, service.policy.label)


def test_the_parts_of_a_policy_are_told_by_dotted_names() -> None:
    found = operation.parameters_of(Bandit(exploration="thompson"))
    assert (found["exploration"], found["estimator.ridge"]) == ("thompson", 1.0)


# the life of the application


def test_the_application_starts_the_service_and_stops_what_it_started(service: Service) -> None:
    events = []

    async def maintain(served: Service) -> None:
        assert served is service
        events.append("maintenance")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("maintenance is over")

    async def stop() -> None:
        events.append("stop")
        await Service.stop(service)

    service.stop = stop  # type: ignore[method-assign]
    with calling(app_of(service, beside=[maintain])) as client:
        client.recommend()
        assert events == ["maintenance"]
    assert events == ["maintenance", "maintenance is over", "stop"]


def test_a_service_that_has_started_is_not_started_again(service: Service) -> None:
    async def start_and_use() -> None:
        await service.start()
        app = app_of(service)
        service.start = None  # type: ignore[assignment, method-assign]
        async with app.router.lifespan_context(app):
            pass

    asyncio.run(start_and_use())


def test_upkeep_that_fails_is_logged(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_: Any) -> None:
        raise RuntimeError("broken")

    with calling(app_of(service, beside=[broken])) as client:
        client.recommend()
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == "a background task ended"


def test_a_store_that_is_down_at_the_end_is_logged(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def down(*_: Any) -> None:
        raise StoreDown("gone")

    with calling(app_of(service)):
        monkeypatch.setattr(service.store, "keep_counts", down)
    assert [vars(record)["reason"] for record in caplog.records] == ["gone"]
