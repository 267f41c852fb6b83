"""The service starts with what the container file, compose and the chart tell it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet
import pytest
import redis

from faircascade.service.keys import new_key
from tests.deploy.chart import render
from tests.deploy.compose import DEPLOY, load
from tests.deploy.test_chart import EVERYTHING
from tests.service.redis_server import RedisServer, needs_redis
from tests.service.server_process import running

pytestmark = needs_redis
CSV = "item_id,f1,f2\na,0.1,0.2\nb,0.3,0.1\n"


def _of_the_image() -> tuple[list[str], str]:
    (words,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    return json.loads(words), "redis://redis:6379/0"


def _of_compose() -> tuple[list[str], str]:
    services = load("compose.yaml", variables={"REDIS_PASSWORD": "secret"})["services"]
    assert services["service-1"] == services["service-2"]
    return services["service-1"]["command"], services["service-1"]["environment"][
        "FAIRCASCADE_STORE"
    ]


def _of_the_chart() -> tuple[list[str], str]:
    values: dict[str, Any] = EVERYTHING | {
        "store": {"url": "redis://:secret@redis:6379/0"},
        "items": {"file": CSV},
        "options": ["--policy=ealinucb", "--weight=log"],
    }
    documents = {(d["kind"], d["metadata"]["name"]): d for d in render(values)}
    (container,) = documents["Deployment", "shop"]["spec"]["template"]["spec"]["containers"]
    return container["args"], documents["Secret", "shop-store"]["stringData"]["store"]


@pytest.mark.parametrize("source", [_of_the_image, _of_compose, _of_the_chart])
def test_the_service_starts_and_answers_probes(source, tmp_path: Path) -> None:
    arguments, address = source()
    (tmp_path / "keys").mkdir()
    (tmp_path / "items").mkdir()
    key = new_key(tmp_path / "keys" / "keys.json", "shop", "write")
    (tmp_path / "items" / "items.csv").write_text(CSV)
    table = pa.table({"item_id": ["a", "b"], "f1": [0.1, 0.3], "f2": [0.2, 0.1]})
    pyarrow.parquet.write_table(table, tmp_path / "items" / "items.parquet")
    here = [re.sub(r"/(keys|items)/", rf"{tmp_path}/\1/", word) for word in arguments]
    with RedisServer(tmp_path) as store:
        if ":secret@" in address:
            redis.Redis(port=store.port).config_set("requirepass", "secret")
        env = {"FAIRCASCADE_STORE": address.replace("redis:6379", f"127.0.0.1:{store.port}")}
        with running(*here, folder=tmp_path, env=env) as server:
            assert httpx.get(f"{server.url}/healthz").status_code == 200
            assert httpx.get(f"{server.url}/v1/policy").status_code == 401
            allowed = {"Authorization": f"Bearer {key}"}
            assert httpx.get(f"{server.url}/v1/items", headers=allowed).json()["total"] == 2
