"""Callers send as many requests a second as they may, however they divide them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.http import access
from faircascade.service.http.rate_limits import MOST_CALLERS, RateLimits, TooFast
from faircascade.service.keys import Keys, new_key
from faircascade.service.settings import ServiceSettings
from tests.service.http.applications import Client, app_of, calling, new_service
from tests.service.http.test_keys import bearer
from tests.service.in_process import Clock

BATCH = "/v1/recommendations/batch"


def takes(limits: RateLimits, caller: str, rate: float, tokens: int = 1) -> bool:
    """Ask for something of so many entries; return whether it was let in."""
    try:
        limits.take(caller, rate)
        if tokens > 1:
            limits.take(caller, rate, tokens - 1, begun=True)
    except TooFast:
        return False
    return True


# buckets


def test_a_second_of_requests_is_let_in_at_once_and_then_as_many_as_come_in_time() -> None:
    clock = Clock(0.0)
    limits = RateLimits(clock=clock)
    assert [takes(limits, "shop", 5) for _ in range(7)] == [True] * 5 + [False] * 2
    clock.now += 0.4  # two more
    assert [takes(limits, "shop", 5) for _ in range(3)] == [True, True, False]
    clock.now += 1000.0
    assert sum(takes(limits, "shop", 5) for _ in range(20)) == 5


def test_less_than_one_a_second_is_let_in_one_by_one() -> None:
    clock = Clock(0.0)
    limits = RateLimits(clock=clock)
    assert takes(limits, "shop", 0.1)
    with pytest.raises(TooFast, match=r"more than 0\.1 a second.*try again in 10 s") as told:
        limits.take("shop", 0.1)
    assert told.value.retry_after == 10
    clock.now += 10.0
    assert takes(limits, "shop", 0.1)


def test_a_large_batch_is_let_in_once_and_paid_for_by_waiting() -> None:
    clock = Clock(0.0)
    limits = RateLimits(clock=clock)
    assert takes(limits, "shop", 10, tokens=100)  # 90 in debt
    assert not takes(limits, "shop", 10, tokens=100)
    with pytest.raises(TooFast) as told:
        limits.take("shop", 10)
    assert told.value.retry_after == 10  # 9.1, rounded up
    clock.now += 9.0
    assert not takes(limits, "shop", 10)
    clock.now += 0.1
    assert takes(limits, "shop", 10)


@given(
    rate=st.floats(0.1, 1000),
    steps=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 1000)), max_size=60),
)
def test_no_more_is_let_in_than_the_rate_but_for_a_second_and_one_batch(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    clock = Clock(0.0)
    limits = RateLimits(clock=clock)
    let_in, largest = 0, 0
    for pause, entries in steps:
        clock.now += pause
        if takes(limits, "shop", rate, entries):
            let_in += entries
            largest = max(largest, entries)
    assert let_in <= rate * clock.now + max(1.0, rate) + largest + len(steps)
    # whoever waits as long as it is told is let in
    try:
        limits.take("shop", rate)
    except TooFast as error:
        clock.now += error.retry_after
        assert takes(limits, "shop", rate)


def test_batches_on_many_connections_at_once_do_not_all_get_in() -> None:
    clock = Clock(0.0)
    limits = RateLimits(clock=clock)
    begun = 0
    for _ in range(16):  # the heads of all come before the bodies of any
        try:
            limits.take("shop", 10)
            begun += 1
        except TooFast:
            pass
    assert begun == 10
    done = 0
    for _ in range(begun):
        try:
            limits.take("shop", 10, 999, begun=True)
            done += 1
        except TooFast:
            pass
    assert done == 1


def test_callers_do_not_take_from_each_other() -> None:
    limits = RateLimits(clock=Clock(0.0))
    assert takes(limits, "shop", 1)
    assert not takes(limits, "shop", 1)
    assert takes(limits, "wall", 1)


def test_however_many_callers_there_are_no_more_buckets_are_kept_and_none_is_forgotten() -> None:
    clock = Clock(0.0)
    limits = RateLimits(clock=clock)
    assert takes(limits, "greedy", 10, tokens=10_000)
    let_in = sum(takes(limits, f"address {n}", 10) for n in range(3 * MOST_CALLERS))
    assert len(limits) <= MOST_CALLERS + 1
    assert MOST_CALLERS <= let_in <= MOST_CALLERS + 10  # the others share a bucket
    assert not takes(limits, "greedy", 10)
    clock.now += 1.0
    assert all(takes(limits, f"later {n}", 10) for n in range(MOST_CALLERS))
    assert len(limits) <= MOST_CALLERS + 1
    assert not takes(limits, "greedy", 10)


# over HTTP


@contextmanager
def limited(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, keys: Path | None = None, **settings: object
) -> Iterator[tuple[Client, Clock]]:
    clock = Clock(0.0)
    monkeypatch.setattr(access, "RateLimits", lambda: RateLimits(clock=clock))
    service = new_service(folder, settings=ServiceSettings(**settings))  # type: ignore[arg-type]
    with calling(app_of(service, keys=None if keys is None else Keys.load(keys))) as client:
        yield client, clock


def test_each_key_has_its_rate_or_that_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys.json"
    slow, fast, other = (
        bearer(new_key(file, name, "write", rate))
        for name, rate in (("slow", 2.0), ("fast", 50.0), ("other", None))
    )
    with limited(tmp_path, monkeypatch, keys=file, rate_limit=5.0) as (client, clock):
        for headers, most in ((slow, 2), (fast, 50), (other, 5)):
            answers = [client.get("/v1/policy", headers=headers) for _ in range(60)]
            assert [a.status_code for a in answers] == [200] * most + [429] * (60 - most)
        clock.now += 1.0
        found = {
            line.split('"')[1]: float(line.split()[-1])
            for line in client.get("/metrics", headers=fast).text.splitlines()
            if line.startswith("faircascade_rate_limited_total{key")
        }
        assert found == {"": 0.0, "slow": 58.0, "fast": 10.0, "other": 55.0}


def test_a_refusal_says_when_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited(tmp_path, monkeypatch, rate_limit=0.5) as (client, clock):
        client.recommend()
        answer = client.post("/v1/recommendations", {"user": "ann"})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
        problem = answer.json()
        assert problem["title"] == "Too Many Requests"
        assert problem["detail"].startswith("more than 0.5 a second")
        assert problem["request_id"] == answer.headers["x-request-id"]
        clock.now += 2.0
        client.recommend()


def test_a_batch_counts_as_many_as_it_has_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with limited(tmp_path, monkeypatch, rate_limit=10.0) as (client, clock):
        body = {"requests": [{"user": f"user-{n}"} for n in range(20)]}
        assert client.post(BATCH, body).status_code == 200
        answer = client.post(BATCH, body)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
        clock.now += 1.0
        assert client.get("/v1/policy").status_code == 429
        clock.now += 0.1
        assert client.get("/v1/policy").status_code == 200


def test_a_batch_that_is_refused_after_its_body_came_did_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with limited(tmp_path, monkeypatch, rate_limit=10.0) as (client, _):
        limits = next(
            m.kwargs["access"] for m in client.app.user_middleware if "access" in m.kwargs
        )._limits
        calls = []

        def take(caller: str, rate: float, tokens: int = 1, *, begun: bool = False) -> None:
            calls.append(tokens)
            if begun:
                raise TooFast(rate, 3.0)

        monkeypatch.setattr(limits, "take", take)
        answer = client.post(BATCH, {"requests": [{"user": "ann"}, {"user": "bob"}]})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
        assert calls == [1, 1]
        assert client.get("/v1/users/ann").status_code == 404


def test_probes_pages_and_proxies_are_not_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with limited(tmp_path, monkeypatch, rate_limit=1.0) as (client, _):
        for path in ("/healthz", "/readyz", "/", "/static/dashboard.js", "/openapi.json"):
            assert [client.get(path).status_code for _ in range(3)] == [200] * 3
        assert [client.get("/v1/policy").status_code for _ in range(2)] == [200, 429]
    folder = tmp_path / "other"
    folder.mkdir()
    with limited(folder, monkeypatch, rate_limit=1.0, proxies=("127.0.0.0/8",)) as (client, _):
        assert [client.get("/v1/policy").status_code for _ in range(3)] == [200] * 3


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_is_a_number_above_zero(tmp_path: Path, rate: float) -> None:
    with pytest.raises(ValueError, match="rate must be a number > 0"):
        new_key(tmp_path / "keys.json", "shop", "write", rate)
    with pytest.raises(ValueError, match="rate_limit must be positive"):
        ServiceSettings(rate_limit=rate)
