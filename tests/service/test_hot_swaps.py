"""Policies of a real server are changed while users come: nobody notices, nothing is lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

import faircascade as fc
from tests.service.server_process import running
from tests.service.test_serve import CSV

pytestmark = pytest.mark.slow

SWAPS = 100
THREADS = 4
USERS = 40


class Visitors:
    """Threads in which users ask and answer as fast as they can, without a second try."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.errors: list[Exception] = []
        self.slates: Counter[str] = Counter()
        """Answered slates by user."""
        self.policies: Counter[str] = Counter()
        """Answered slates by version."""
        self.over = threading.Event()
        self._lock = threading.Lock()

    def come(self, number: int) -> None:
        with fc.Client(self.url, retries=0, timeout=30, deadline=60) as client:
            for turn in cycle(range(number, USERS, THREADS)):
                if self.over.is_set():
                    return
                try:
                    user = f"user-{turn}"
                    shown = client.recommend(user, k=3)
                    clicked = 1 + turn % 3
                    first = client.feedback(shown, clicked=clicked)
                    again = client.feedback(shown, clicked=clicked)
                    assert first == again
                except Exception as error:
                    self.errors.append(error)
                    return
                with self._lock:
                    self.slates[user] += 1
                    self.policies[shown.policy_version] += 1


@contextmanager
def visited(url: str) -> Iterator[Visitors]:
    visitors = Visitors(url)
    threads = [threading.Thread(target=visitors.come, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield visitors
    finally:
        visitors.over.set()
        for thread in threads:
            thread.join()


def settled(client: fc.Client, answers: int) -> int:
    """Return how many answers are counted, when they are as many as they should be or later."""
    end = time.monotonic() + 10
    while True:
        found = int(client.exposure("all")["answers"])
        if found >= answers or time.monotonic() > end:
            return found
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_hundred_swaps_fail_no_request_and_every_answer_is_learned_once(
    tmp_path: Path, workers: int
) -> None:
    (tmp_path / "items.csv").write_text(CSV)
    arguments = ["--items", "items.csv", "--workers", str(workers), "--policy", "linucb"]
    with running(*arguments, folder=tmp_path) as server, fc.Client(server.url) as client:
        first = client.policies()["policies"][0]["version"]
        versions = [first]
        for alpha in (0.0, 0.5, 1.0):  # they learn alike, so that all answers teach one model
            named = client.put_policy("default", "linucb", {"alpha": alpha})
            versions.append(named["version"])
        with visited(server.url) as visitors:
            for swap, version in zip(range(SWAPS), cycle(versions), strict=False):
                client.choose_version("default", version)
                if swap % 10 == 9:
                    client.put_kill_switch("random")
                    client.put_kill_switch(None)
        assert not visitors.errors, visitors.errors[0]
        assert len(visitors.policies) >= 4
        assert sum(visitors.slates.values()) > SWAPS
        assert settled(client, sum(visitors.slates.values())) == sum(visitors.slates.values())
        for user, slates in visitors.slates.items():
            known = client.user(user)
            assert (known["recommendations"], known["feedback"]) == (slates, slates)
        assert client.policies()["number"] >= SWAPS
        assert server.terminate() == 0
    assert "Traceback" not in server.logs


def test_swaps_of_policies_that_learn_differently_lose_no_answer_either(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(CSV)
    arguments = ["--items", "items.csv", "--workers", "2", "--policy", "linucb"]
    with running(*arguments, folder=tmp_path) as server, fc.Client(server.url) as client:
        plain = client.policies()["policies"][0]["version"]
        fairer = client.put_policy("default", "ealinucb", {"weight": "log", "gamma": 0.1})
        wide = client.policies()["numbers_per_user"]
        with visited(server.url) as visitors:
            for version in [plain, fairer["version"]] * 25:
                client.choose_version("default", version)
        assert not visitors.errors, visitors.errors[0]
        sent = sum(visitors.slates.values())
        assert settled(client, sent) == sent
        # going back and forth makes no more room than going back once
        assert client.policies()["numbers_per_user"] <= wide * 1.5
        learned = []
        for version in (plain, fairer["version"]):
            client.choose_version("default", version)
            learned.append(sum(client.user(user)["feedback"] for user in visitors.slates))
        assert max(learned) <= sent <= sum(learned)
    assert "Traceback" not in server.logs
