"""A service over HTTP writes a log that answers like the log of a ranker beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faircascade as fc
from faircascade.policies import Bandit
from faircascade.ranker import Ranker
from faircascade.rerankers import LoggedRandomisation
from faircascade.types import Items
from tests.cli.conftest import Run
from tests.service.server_process import running

POLICY = Bandit(reranker=LoggedRandomisation(share=0.5, shortlist=6))
OPTIONS = ("--policy", "bandit", "--set", "reranker=logged-randomisation",
           "--set", "reranker.share=0.5", "--set", "reranker.shortlist=6")  # fmt: skip
ITEMS, K, VISITS = 20, 3, 200


def write_items(path: Path) -> Items:
    """Write a catalogue that the service and 'faircascade evaluate' can read."""
    rows = np.random.default_rng(0).normal(size=(ITEMS, 4)) / 2
    names = [f"song-{n}" for n in range(ITEMS)]
    columns = {f"f{n}": rows[:, n] for n in range(4)}
    pq.write_table(pa.table({"item_id": names, **columns}), path)
    return Items.of(rows, ids=names)


def visit(folder: Path, ranker: Ranker) -> Path:
    """Serve some users, show them what a ranker shows, and write a log of it."""
    draw = np.random.default_rng(1)
    arguments = ["--items", "items.parquet", *OPTIONS, "--store", "sqlite:store.db"]
    log = ("--event-log", "log", "--event-log-rotate", "1s")
    with (
        running(*arguments, *log, folder=folder) as server,
        fc.Client(server.url) as client,
        fc.EventLogWriter(folder / "by-hand.jsonl") as by_hand,
    ):
        for turn in range(VISITS):
            user = f"user-{draw.integers(12)}"
            shown, slate = client.recommend(user, k=K), ranker.recommend(user, k=K)
            assert tuple(shown.items) == tuple(slate.items)
            seen = int(draw.integers(1, K + 1))
            clicked = (np.flatnonzero(draw.random(seen) < 0.4) + 1).tolist()
            client.feedback(shown, clicked=clicked, shown=seen)
            ranker.update(slate, clicked, shown=seen)
            row = fc.LoggedImpression.of(
                slate,
                time=turn,
                policy=POLICY.label,
                clicked_positions=clicked,
                shown=seen,
            )
            by_hand.write(row)
        metrics = httpx.get(f"{server.url}/metrics").text
        assert "faircascade_event_log_lag_seconds" in metrics
        assert "event log" not in httpx.get(f"{server.url}/readyz").json()["checks"]
    return folder / "log"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Items]:
    """The log of a service, that of a ranker, and their items."""
    folder = tmp_path_factory.mktemp("served")
    items = write_items(folder / "items.parquet")
    return visit(folder, Ranker(POLICY, items=items)), folder / "by-hand.jsonl", items


def test_its_rows_are_those_of_a_ranker(logs: tuple[Path, Path, Items]) -> None:
    path, by_hand, _ = logs
    expected = [json.loads(line) for line in by_hand.read_text().splitlines()]
    files = sorted(path.glob("*.parquet"))
    found = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert len(found) == len(expected) == VISITS
    for one, other in zip(found, expected, strict=True):
        for name in ("user", "items", "clicked_positions", "shown", "policy", "explored"):
            assert one[name] == other[name], name
        for name in ("slate_propensity", "cascade_propensity", "item_position_propensity"):
            if name in other:
                np.testing.assert_allclose(one[name], other[name], rtol=1e-12)
            else:
                assert one[name] is None
    assert any(row["slate_propensity"] is not None for row in found)


def told(run: Run, *arguments: str) -> dict[str, Any]:
    """Return what a command prints as JSON."""
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_folder_is_evaluated_audited_and_fitted_like_it(
    logs: tuple[Path, Path, Items], run: Run
) -> None:
    path, by_hand, _ = logs
    items = ("--items", str(path.parent / "items.parquet"))
    one, other = (told(run, "evaluate", str(p), *items, "--policy", "random") for p in logs[:2])
    assert one["impressions"] == other["impressions"] == VISITS
    for mine, theirs in zip(one["policies"], other["policies"], strict=True):
        assert mine["verdict"] == theirs["verdict"]
        values = [[estimate["value"] for estimate in p["estimates"]] for p in (mine, theirs)]
        np.testing.assert_allclose(*np.array(values, dtype=np.float64), rtol=1e-9)
    one, other = (told(run, "audit", str(log)) for log in (path, by_hand))
    assert one["metrics"] == other["metrics"]
    fits = [told(run, "fit", str(log), "--held-out", "0.5") for log in (path, by_hand)]
    assert fits[0] == fits[1]


def test_the_command_makes_the_store_anew(logs: tuple[Path, Path, Items], run: Run) -> None:
    path, _, _ = logs
    target = f"sqlite:{path.parent / 'again.db'}"
    found = told(run, "store", "rebuild", str(path), "--store", target)
    assert (found["items"], found["users"], found["impressions"]) == (ITEMS, 12, VISITS)
    assert told(run, "store", "info", target)["impressions"] == VISITS
    store = f"sqlite:{path.parent / 'store.db'}"
    code, out, _ = run("store", "unlog", store)
    assert (code, out) == (0, "The event log has ended; 0 changes were not in its files.\n")


def test_a_mistake_is_told_before_anything_starts(run: Run, tmp_path: Path) -> None:
    for option, value, message in (
        ("--event-log-format", "csv", "--event-log-format must be one of parquet, jsonl"),
        ("--event-log-rotate", "soon", "--event-log-rotate must be a time such as 1h"),
    ):
        code, _, err = run("serve", "--demo", "--event-log", str(tmp_path), option, value)
        assert code == 2
        assert message in err
