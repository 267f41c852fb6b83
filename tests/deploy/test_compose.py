"""The compose files, as far as they can be seen without images."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from tests.deploy.compose import DEPLOY, load, mounts
from tests.deploy.test_monitoring import ALERTS, PROMTOOL, needs_promtool
from tests.service.redis_server import REDIS, free_port, needs_redis

FILES = ("compose.yaml", "compose.monitoring.yaml")
PASSWORD = "a-secret-of-redis"
ALL = load(*FILES, variables={"REDIS_PASSWORD": PASSWORD, "GRAFANA_PASSWORD": "another"})
SERVICES: dict[str, Any] = ALL["services"]
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
MADE_BY_THE_USER = {"./keys", "./items.parquet", "./prometheus.key"}

every_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def _is_ours(service: dict[str, Any]) -> bool:
    return "build" in service


@every_service
def test_a_container_may_do_little(service) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    user = service.get("user", "USER faircascade" in CONTAINERFILE and "faircascade")
    assert user
    assert not str(user).startswith(("root", "0"))


@every_service
def test_a_container_cannot_take_the_whole_machine(service) -> None:
    assert {"cpus", "mem_limit", "pids_limit"} <= service.keys()
    assert {"max-size", "max-file"} == service["logging"]["options"].keys()


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - {"keys", "redis-exporter"}))
def test_a_container_has_a_health_check(name) -> None:
    service = SERVICES[name]
    assert "test" in service.get("healthcheck", {}) or (
        _is_ours(service) and "HEALTHCHECK" in CONTAINERFILE
    )


@every_service
def test_what_is_mounted_is_there(service) -> None:
    for source, _ in mounts(service):
        if source.startswith("."):
            assert source in MADE_BY_THE_USER or (DEPLOY / source).exists()
        else:
            assert source in ALL["volumes"]
    if service.get("network_mode") is None:
        assert set(service["networks"]) <= ALL["networks"].keys()


def test_files_of_the_user_are_explained_and_kept_out_of_git() -> None:
    text = "".join((DEPLOY / name).read_text(encoding="utf-8") for name in FILES)
    ignored = (DEPLOY.parent / ".gitignore").read_text(encoding="utf-8")
    for name in ("keys", "prometheus.key", ".env"):
        assert f"deploy/{name}" in text
        assert f"deploy/{name}" in ignored


def test_workers_and_an_event_log_are_asked_for_in_env() -> None:
    service = SERVICES["service-1"]
    assert "--workers=1" in service["command"]
    assert service["environment"]["FAIRCASCADE_EVENT_LOG"] == ""
    wanted = {"REDIS_PASSWORD": PASSWORD, "EVENT_LOG": "/event-log", "WORKERS": "2"}
    service = load("compose.yaml", variables=wanted)["services"]["service-1"]
    assert "--workers=2" in service["command"]
    assert service["environment"]["FAIRCASCADE_EVENT_LOG"] in dict(mounts(service)).values()
    assert "install -d -o faircascade /event-log" in CONTAINERFILE


def test_passwords_are_asked_for_and_written_nowhere() -> None:
    with pytest.raises(ValueError, match=r"REDIS_PASSWORD: put it into deploy/\.env"):
        load("compose.yaml", variables={})
    for service in SERVICES.values():
        shown = [service.get("entrypoint"), service.get("command"), service.get("healthcheck")]
        assert PASSWORD not in str(shown)


def test_only_the_services_and_their_monitors_reach_redis() -> None:
    assert ALL["networks"]["store"]["internal"] is True
    assert SERVICES["redis"]["networks"] == ["store"]
    assert "ports" not in SERVICES["redis"]
    near = {name for name, service in SERVICES.items() if "store" in service.get("networks", ())}
    assert near == {"redis", "service-1", "service-2", "prometheus", "redis-exporter"}


def test_redis_has_twice_the_memory_that_it_may_fill() -> None:
    (line,) = [
        x for x in (DEPLOY / "redis.conf").read_text().splitlines() if x.startswith("maxmemory ")
    ]
    assert line == "maxmemory 1gb"
    assert SERVICES["redis"]["mem_limit"] == "2g"


@pytest.fixture
def redis_of_compose(tmp_path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run the command of the container, with another folder and port."""
    settings = (DEPLOY / "redis.conf").read_text().replace("dir /data", f"dir {tmp_path}")
    port = free_port()
    (tmp_path / "redis.conf").write_text(f"{settings}\nport {port}\nbind 127.0.0.1\n")
    service = SERVICES["redis"]
    words = [*service["entrypoint"], *service["command"]]
    words = [word.replace("/etc/redis.conf", str(tmp_path / "redis.conf")) for word in words]
    assert words[0] == "/bin/sh"
    process = subprocess.Popen(
        words, env={"PATH": os.environ["PATH"]} | service["environment"], stdout=subprocess.DEVNULL
    )
    yield port, process
    process.terminate()
    assert process.wait(10) == 0  # the server itself got the signal


@needs_redis
def test_redis_wants_the_password_and_no_process_shows_it(redis_of_compose) -> None:
    assert REDIS is not None
    port, process = redis_of_compose
    client = redis.Redis(port=port, password=PASSWORD)
    deadline = time.monotonic() + 10
    while True:
        try:
            assert client.ping()
            break
        except redis.ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert client.config_get("appendfsync")["appendfsync"] == "always"
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=port).ping()
    command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    assert b"redis-server" in command
    assert PASSWORD.encode() not in command


def test_prometheus_scrapes_what_runs_under_the_names_of_the_rules() -> None:
    settings = yaml.safe_load((DEPLOY / "monitoring" / "prometheus.yaml").read_text())
    targets = {
        job["job_name"]: {t for s in job["static_configs"] for t in s["targets"]}
        for job in settings["scrape_configs"]
    }
    assert targets["faircascade"] == {f"{name}:8000" for name in ("service-1", "service-2")}
    for target in set().union(*targets.values()):
        assert target.split(":")[0] in SERVICES
    expressions = " ".join(rule["expr"] for rule in ALERTS)
    for job in targets:
        assert f'job="{job}"' in expressions
    places = dict(map(reversed, mounts(SERVICES["prometheus"])))  # type: ignore[arg-type]
    assert set(settings["rule_files"]) <= places.keys()
    assert settings["scrape_configs"][0]["authorization"]["credentials_file"] in places


def test_grafana_is_given_the_board() -> None:
    places = dict(map(reversed, mounts(SERVICES["grafana"])))  # type: ignore[arg-type]
    boards = yaml.safe_load((DEPLOY / "monitoring" / "grafana-boards.yaml").read_text())
    (provider,) = boards["providers"]
    assert (
        places[f"{provider['options']['path']}/grafana-dashboard.json"]
        == "./grafana-dashboard.json"
    )
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home in places
    sources = yaml.safe_load((DEPLOY / "monitoring" / "grafana-datasource.yaml").read_text())
    assert sources["datasources"][0]["url"] == "http://prometheus:9090"


@needs_promtool
def test_prometheus_takes_its_settings(tmp_path) -> None:
    assert PROMTOOL is not None
    text = (DEPLOY / "monitoring" / "prometheus.yaml").read_text()
    text = text.replace("/etc/prometheus/rules.yaml", str(DEPLOY / "prometheus-rules.yaml"))
    (tmp_path / "key").touch()
    text = text.replace("/etc/prometheus/faircascade.key", str(tmp_path / "key"))
    (tmp_path / "prometheus.yaml").write_text(text)
    run = subprocess.run(
        [PROMTOOL, "check", "config", tmp_path / "prometheus.yaml"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
