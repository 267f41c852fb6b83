"""Traffic, the store, changes of policies, finding items and exports."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from faircascade.service.http.schemas import FoundItems, StoreHealth, Traffic
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown
from tests.service.http.applications import Client


def test_requests_of_each_step_are_told_with_their_times(client: Client) -> None:
    client.learn(client.recommend()["impression_id"])
    client.get("/v1/policy")
    client.get("/healthz")
    found = Traffic.model_validate(client.get("/v1/traffic?window=1h").json())
    assert (found.step_seconds, len(found.moments)) == (60, 60)
    now = found.moments[-1]
    assert (now.recommendations, now.feedback, now.other, now.errors) == (1, 1, 1, 0)
    assert now.seconds is not None
    assert 0 < now.seconds.p50 <= now.seconds.p99
    assert found.moments[0].seconds is None
    assert client.get("/v1/traffic?window=all").status_code == 422


def test_the_store_is_described(client: Client) -> None:
    found = StoreHealth.model_validate(client.get("/v1/store").json())
    assert (found.kind, found.status, found.workers) == ("sqlite", "ok", 1)
    assert found.seconds > 0
    assert found.data_bytes > 0
    assert found.log_bytes is not None
    assert found.counts_behind_seconds < 10


def test_a_store_that_is_down_is_described_too(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down() -> None:
        raise StoreDown("/secret/place: disk I/O error")

    monkeypatch.setattr(service.store, "ping", down)
    answer = client.get("/v1/store")
    found = StoreHealth.model_validate(answer.json())
    assert (found.status, found.seconds, found.data_bytes) == ("is unavailable", None, None)
    assert "secret" not in answer.text


def find(client: Client, prefix: str, **more: Any) -> FoundItems:
    answer = client.get("/v1/exposure/find", params={"prefix": prefix, "window": "all", **more})
    assert answer.status_code == 200, answer.text
    return FoundItems.model_validate(answer.json())


def test_items_are_found_by_prefix_with_exposure_and_labels(
    client: Client, service: Service
) -> None:
    for name in ("song", "song-1", "song-2", "sing", "ünsong", "s"):
        client.put(f"/v1/items/{name}", {"features": [1.0, 0, 0, 0], "group": "new", "merit": 2.0})
    for _ in range(3):
        client.recommend("bob", k=1, candidates=["song-2"])
    client.recommend("bob", k=1, candidates=["song-1"])
    client.run(service.exposure.catch_up, service.store)
    found = find(client, "song")
    assert [one.name for one in found.items] == ["song", "song-2", "song-1"]
    assert found.total == 3
    assert [one.appearances for one in found.items] == [0, 3, 1]
    assert (found.items[1].group, found.items[1].merit, found.items[1].supplier) == ("new", 2, None)
    assert [one.name for one in find(client, "song", limit=1).items] == ["song"]
    assert [one.name for one in find(client, "ün").items] == ["ünsong"]
    assert find(client, "nothing").items == []
    assert find(client, "").total == len(service.catalogue)
    client.delete("/v1/items/song-2")
    assert [one.name for one in find(client, "song").items] == ["song", "song-1"]


@pytest.mark.parametrize("by", ["item", "group", "supplier"])
def test_exposure_is_exported_whole(client: Client, service: Service, by: str) -> None:
    client.recommend(k=3)
    client.run(service.exposure.catch_up, service.store)
    query = f"/v1/exposure/export?by={by}&window=all"
    answer = client.get(f"{query}&format=json")
    rows = answer.json()
    assert answer.headers["Content-Disposition"] == (
        f'attachment; filename="exposure-{by}-all.json"'
    )
    listed = client.get(f"/v1/exposure/items?by={by}&window=all&limit=1000").json()["items"]
    key = {"key": lambda row: row["name"]}
    assert sorted(rows, **key) == sorted(listed, **key)
    text = client.get(f"{query}&format=csv").text
    table = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in table] == [row["name"] for row in rows]
    assert [float(row["exposure_share"]) for row in table] == [
        row["exposure_share"] for row in rows
    ]


def test_time_lines_are_exported_with_their_requests(client: Client, service: Service) -> None:
    client.recommend()
    client.run(service.exposure.catch_up, service.store)
    rows = client.get("/v1/exposure/export?by=time&window=1h&format=json").json()
    assert len(rows) == 60
    assert rows[-1]["recommendations"] == rows[-1]["requests_recommendations"] == 1
    assert rows[-1]["seconds_p99"] > 0
    assert rows[-1]["coverage"] > 0
    assert rows[0]["seconds_p99"] is None
    text = client.get("/v1/exposure/export?by=time&window=all&format=csv").text
    assert len(list(csv.DictReader(io.StringIO(text)))) == 28  # of a week
