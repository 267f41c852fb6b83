"""Requests by minute, and metrics of several workers."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from faircascade.service.http.rate_limits import TooFast
from faircascade.service.http.shared_rate_limits import SharedRateLimits
from faircascade.service.http.traffic import MINUTES, Traffic
from faircascade.service.worker import Worker
from tests.service.in_process import Clock

SLATES = "/v1/recommendations"


def worker(folder: Path, number: int, count: int = 2) -> Worker:
    return Worker(
        number=number,
        count=count,
        leading=number == 0,
        store="",
        listener=0,
        files=(),
        folder=str(folder),
    )


def test_requests_are_counted_by_kind_and_outcome() -> None:
    traffic = Traffic(Clock())
    traffic.answered(SLATES, 200, 0.004)
    traffic.answered(f"{SLATES}/batch", 200, 0.4)
    traffic.answered("/v1/feedback", 504, 0.1)
    traffic.answered("/v1/items", 429, 0.1)
    traffic.answered("/readyz", 503, 0.1)  # not of the API
    traffic.refused(SLATES)
    *before, now = traffic.timeline("1h")
    assert now.counts.tolist() == [3, 1, 1, 1, 2]
    assert now.times.sum() == 1
    assert not any(moment.counts.any() for moment in before)


def test_times_are_found_within_the_bounds_of_their_bucket() -> None:
    traffic = Traffic(Clock())
    assert traffic.timeline("1h")[-1].seconds(0.5) is None
    for _ in range(98):
        traffic.answered(SLATES, 200, 0.004)
    for _ in range(2):
        traffic.answered(SLATES, 200, 60.0)
    now = traffic.timeline("1h")[-1]
    assert 0.003 < now.seconds(0.5) <= 0.005
    assert now.seconds(0.99) == 10.0  # the longest that is told apart


@pytest.mark.parametrize(("window", "minutes"), [("1h", 1), ("24h", 30), ("7d", 360)])
def test_steps_are_the_sum_of_their_minutes(window: str, minutes: int) -> None:
    clock = Clock()
    traffic = Traffic(clock)
    rng = np.random.default_rng(0)
    expected: dict[int, int] = {}
    for _ in range(500):
        clock.now += float(rng.integers(0, 2_000))
        traffic.answered(SLATES, 200, 0.01)
        step = int(clock.now // (60 * minutes))
        expected[step] = expected.get(step, 0) + 1
    moments = traffic.timeline(window)
    found = {int(m.since // (60 * minutes)): int(m.counts[0]) for m in moments}
    assert {step: n for step, n in found.items() if n} == {
        step: n for step, n in expected.items() if step in found
    }
    assert moments[-1].until == clock.now
    assert all(m.until == after.since for m, after in pairwise(moments))


def test_what_was_a_week_ago_is_forgotten() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    traffic.answered(SLATES, 200, 0.01)
    clock.now += 60 * MINUTES
    assert sum(m.counts.sum() for m in traffic.timeline("7d")) == 0
    traffic.answered(SLATES, 200, 0.01)
    assert sum(m.counts.sum() for m in traffic.timeline("7d")) == 1


def test_each_worker_tells_the_traffic_of_all_also_after_one_was_started_again(
    tmp_path: Path,
) -> None:
    clock = Clock()
    first, second = (Traffic(clock, worker(tmp_path, n)) for n in range(2))
    first.answered(SLATES, 200, 0.01)
    second.answered("/v1/feedback", 200, 0.01)
    del second
    second = Traffic(clock, worker(tmp_path, 1))
    second.refused(SLATES)
    for one in (first, second):
        assert one.timeline("1h")[-1].counts.tolist() == [2, 1, 0, 0, 1]


COUNT = """
import sys
from itertools import pairwise
from pathlib import Path
from faircascade.service.http.metrics import share_values
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from tests.service.http.test_traffic import worker
share_values(worker(Path(sys.argv[1]), int(sys.argv[2])))
registry = CollectorRegistry()
Counter("a", "A.", ["b"], registry=registry).labels("x").inc()
Histogram("h", "H.", buckets=(1, 2), registry=registry).observe(1.5)
shown = CollectorRegistry()
MultiProcessCollector(shown, sys.argv[1])
print(shown.get_sample_value("a_total", {"b": "x"}), end=" ")
print(shown.get_sample_value("h_bucket", {"le": "2.0"}), shown.get_sample_value("h_count"))
"""


def test_counters_of_workers_add_up_and_go_on_after_a_restart(tmp_path: Path) -> None:
    """Three processes: two of one number, one after the other, and another one."""
    root = Path(__file__).parents[3]
    for turn, number in enumerate((0, 1, 0), start=1):
        command = [sys.executable, "-c", COUNT, str(tmp_path), str(number)]
        text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
        assert text.split() == [f"{turn}.0"] * 3


# limits


def test_workers_share_what_a_caller_may_send(tmp_path: Path) -> None:
    clock = Clock()
    first, second = (SharedRateLimits(tmp_path / "limits", clock=clock) for _ in range(2))
    for turn in range(10):
        (first, second)[turn % 2].take("key shop", 10.0)
    for one in (first, second):
        with pytest.raises(TooFast):
            one.take("key shop", 10.0)
        one.take("key other", 10.0)
    clock.now += 0.1
    second.take("key shop", 10.0)
    with pytest.raises(TooFast):
        first.take("key shop", 10.0)
    assert len(first) == 2


def test_callers_without_room_share_one_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faircascade.service.http.shared_rate_limits._PLACES", 1)
    clock = Clock()
    limits = SharedRateLimits(tmp_path / "limits", clock=clock)
    for n in range(8):
        limits.take(f"key {n}", 1.0)
    with pytest.raises(TooFast):
        limits.take("key 9", 1.0)
    clock.now += 1.0
    limits.take("key 9", 1.0)
