"""The alert rules and the board ask only for what /metrics of a service has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy import promql
from tests.service.server_process import running

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text(encoding="utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
BOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")

FOREIGN = {
    "up",  # Prometheus itself
    "redis_aof_enabled",
    "redis_memory_used_bytes",
    "redis_memory_max_bytes",
    "node_filesystem_avail_bytes",
    "node_filesystem_size_bytes",
}
"""Metrics of others."""
OF_THE_SCRAPE = {"job", "instance"}
"""Labels that Prometheus adds to every metric."""
COMPLETE = {"outcome", "notion", "window", "route"}
"""Labels whose values can all be seen; others depend on what happens."""

Known = dict[str, dict[str, set[str]]]


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Known:
    """Values by metric and label, as a service says after some requests."""
    folder = tmp_path_factory.mktemp("demo")
    with running("--demo", folder=folder) as server, httpx.Client(base_url=server.url) as http:
        slate = http.post("/v1/recommendations", json={"user": "ann", "k": 2}).json()
        http.post("/v1/feedback", json={"impression_id": slate["impression_id"]})
        text = http.get("/metrics").text
    found: Known = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def _alternatives(sign: str, value: str) -> Iterator[str]:
    """Return the values that a matcher names; none if it is a pattern or a variable."""
    if sign in ("=", "!=") and "$" not in value:
        yield value


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in ALERTS), *QUERIES])
def test_what_is_asked_for_is_there(expression, known) -> None:
    selectors, grouped = promql.read(expression)
    assert selectors
    everywhere = set(OF_THE_SCRAPE)
    for selector in selectors:
        if selector.metric in FOREIGN:
            continue
        assert selector.metric in known, f"no metric {selector.metric}"
        labels = known[selector.metric]
        everywhere |= labels.keys()
        for label, (sign, value) in selector.labels.items():
            assert label in labels.keys() | OF_THE_SCRAPE, f"{selector.metric} has no {label}"
            if label in COMPLETE:
                assert set(_alternatives(sign, value)) <= labels[label]
    assert grouped <= everywhere


def test_a_tokeniser_that_finds_everything() -> None:
    selectors, grouped = promql.read('sum by (a, b) (rate(x{c=~"d|e",f!="g"}[5m])) / y > 1.5 * -z')
    assert [s.metric for s in selectors] == ["x", "y", "z"]
    assert selectors[0].labels == {"c": ("=~", "d|e"), "f": ("!=", "g")}
    assert grouped == {"a", "b"}


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert set(rule["annotations"]) == {"summary", "action"}
    assert "for" in rule or "increase" in rule["expr"]


def test_the_page_names_the_same_alerts() -> None:
    page = (ROOT / "docs" / "how-to" / "production.md").read_text(encoding="utf-8")
    table = page[page.index("| alert |") :].split("\n\n")[0]
    named = [
        name for row in table.splitlines()[2:] for name in re.findall(r"\w+", row.split("|")[1])
    ]
    assert sorted(named) == sorted(rule["alert"] for rule in ALERTS)


def test_the_board_uses_the_variables_that_it_has() -> None:
    variables = {variable["name"] for variable in BOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(BOARD)))
    assert used - {"__all", "__rate_interval"} == variables


def test_the_panels_of_the_board_lie_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_every_metric_of_the_service_is_on_the_board(known) -> None:
    shown = {s.metric for query in QUERIES for s in promql.read(query)[0]}
    families = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in known}
    on_board = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in shown}
    missing = {name for name in families if name.startswith("faircascade_")} - on_board
    assert missing == set()


def _promtool(*arguments: str | Path) -> None:
    assert PROMTOOL is not None
    run = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@needs_promtool
def test_prometheus_takes_the_rules() -> None:
    _promtool("check", "rules", DEPLOY / "prometheus-rules.yaml")
    _promtool("test", "rules", Path(__file__).with_name("prometheus-rules.test.yaml"))


@needs_promtool
def test_prometheus_takes_the_queries_of_the_board(tmp_path) -> None:
    text = [re.sub(r"\[\$\w+\]", "[5m]", query) for query in QUERIES]
    rules: list[dict[str, Any]] = [
        {"record": f"query:{number}", "expr": query} for number, query in enumerate(text)
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    _promtool("check", "rules", path)
