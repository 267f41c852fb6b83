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
from typer.main import get_command

from faircascade.cli.main import app
from faircascade.service.keys import new_key
from faircascade.service.rules.rules import Rules
from tests.deploy.chart import CHART, SCHEMA, render
from tests.deploy.compose import DEPLOY, load
from tests.deploy.test_chart import EVERYTHING
from tests.service.redis_server import RedisServer, needs_redis
from tests.service.server_process import running

pytestmark = needs_redis
OF_THE_CONTAINER = {"--host", "--port", "--store", "--no-keys"}
"""Options that the image, the store's secret and the keys decide."""
CSV = "item_id,f1,f2\na,0.1,0.2\nb,0.3,0.1\n"


def _of_the_image() -> tuple[list[str], str]:
    (words,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    return json.loads(words), "redis://redis:6379/0"


def _of_compose() -> tuple[list[str], str]:
    variables = {"REDIS_PASSWORD": "secret", "EVENT_LOG": "/event-log"}
    services = load("compose.yaml", variables=variables)["services"]
    assert services["service-1"] == services["service-2"]
    command, environment = (services["service-1"][name] for name in ("command", "environment"))
    log = f"--event-log={environment['FAIRCASCADE_EVENT_LOG']}"
    return [*command, log], environment["FAIRCASCADE_STORE"]


def _of_the_chart() -> tuple[list[str], str]:
    values: dict[str, Any] = EVERYTHING | {
        "store": {"url": "redis://:secret@redis:6379/0"},
        "items": {"file": CSV},
        "options": ["--policy=ealinucb", "--weight=log"],
    }
    assert EVERYTHING["workers"] > 1
    documents = {(d["kind"], d["metadata"]["name"]): d for d in render(values)}
    (container,) = documents["Deployment", "shop"]["spec"]["template"]["spec"]["containers"]
    return container["args"], documents["Secret", "shop-store"]["stringData"]["store"]


def test_the_image_is_not_called_unhealthy_while_a_large_catalogue_loads() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    (minutes,) = re.findall(r"^HEALTHCHECK .*--start-period=(\d+)m ", text, re.MULTILINE)
    assert int(minutes) >= 5


@pytest.mark.parametrize("source", [_of_the_image, _of_compose, _of_the_chart])
def test_the_service_starts_and_answers_probes(source, tmp_path: Path) -> None:
    arguments, address = source()
    for name in ("keys", "items", "settings", "event-log"):
        (tmp_path / name).mkdir()
    key = new_key(tmp_path / "keys" / "keys.json", "shop", "write")
    (tmp_path / "items" / "items.csv").write_text(CSV)
    table = pa.table({"item_id": ["a", "b"], "f1": [0.1, 0.3], "f2": [0.2, 0.1]})
    pyarrow.parquet.write_table(table, tmp_path / "items" / "items.parquet")
    (tmp_path / "settings" / "rules.toml").write_text(EVERYTHING["rules"])
    (tmp_path / "settings" / "rewards.toml").write_text(EVERYTHING["rewards"])
    mounted = r"(?<![\w/])/(?=(keys|items|settings|event-log)\b)"
    here = [re.sub(mounted, f"{tmp_path}/", word) for word in arguments]
    with RedisServer(tmp_path) as store:
        if ":secret@" in address:
            redis.Redis(port=store.port).config_set("requirepass", "secret")
        env = {"FAIRCASCADE_STORE": address.replace("redis:6379", f"127.0.0.1:{store.port}")}
        with running(*here, folder=tmp_path, env=env) as server:
            assert httpx.get(f"{server.url}/healthz").status_code == 200
            assert httpx.get(f"{server.url}/v1/policy").status_code == 401
            allowed = {"Authorization": f"Bearer {key}"}
            assert httpx.get(f"{server.url}/v1/items", headers=allowed).json()["total"] == 2


def test_the_rules_of_compose_change_nothing_until_their_marks_are_removed(tmp_path: Path) -> None:
    path = DEPLOY / "settings" / "rules.toml"
    assert Rules.load(path) == Rules()
    about, examples = path.read_text().split(":\n")
    examples = examples.replace("# ", "")
    (tmp_path / "rules.toml").write_text(f"{about}\n{examples}")
    assert Rules.load(tmp_path / "rules.toml").model_fields_set == {"where", "at_most", "pinned"}


def test_the_chart_takes_each_option_in_one_place() -> None:
    options = {name for p in get_command(app).commands["serve"].params for name in p.opts}
    template = (CHART / "templates" / "deployment.yaml").read_text()
    of_values = set(re.findall(r"--[a-z-]+", template))
    refused = SCHEMA["properties"]["options"]["items"]["not"]["pattern"]
    names = re.findall(r"[a-z-]{3,}", refused)
    assert {f"--{name}" for name in names} == of_values | OF_THE_CONTAINER
    assert of_values | OF_THE_CONTAINER <= options
