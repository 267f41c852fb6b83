"""When to try again and how long to wait, without a network or a clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from email.utils import formatdate
from random import Random
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.client import ServiceUnavailable
from faircascade.client.retry import Attempt, Failure, RetryPolicy, run_operation
from faircascade.client.transport import Operation, Reply, Request, RetryRule

AWAY = Failure(what="away", unsent=True)
LOST = Failure(what="lost", unsent=False)


def reply(status: int, **headers: str) -> Reply:
    return Reply(status=status, headers=headers, content=b"{}", sent_as="x")


def ask(retry: RetryRule) -> Operation[int]:
    return (yield Request(method="POST", path="/", retry=retry)).status


class FakeServer:
    """A clock that attempts and pauses advance; attempts have one outcome until it is back."""

    def __init__(
        self,
        outcome: Failure | Reply,
        *,
        takes: float = 0.0,
        chance: float = 1.0,
        back_at: float = math.inf,
    ) -> None:
        self.now, self.outcome, self.takes, self.back_at = 0.0, outcome, takes, back_at
        self.attempts: list[Attempt] = []
        self.clock: Callable[[], float] = lambda: self.now
        self.chance: Callable[[], float] = lambda: chance

    def run(self, retry: RetryRule = RetryRule.ALWAYS, **settings: float) -> int:
        patience = RetryPolicy(clock=self.clock, chance=self.chance, **settings)
        flow = run_operation(ask(retry), patience)
        attempt = next(flow)
        while True:
            self.attempts.append(attempt)
            self.now += attempt.after + min(self.takes, attempt.timeout)
            try:
                attempt = flow.send(reply(200) if self.now > self.back_at else self.outcome)
            except StopIteration as done:
                return int(done.value)


def test_pauses_double_up_to_a_bound() -> None:
    server = FakeServer(AWAY)
    with pytest.raises(ServiceUnavailable):
        server.run(retries=8, deadline=100.0)
    pauses = [attempt.after for attempt in server.attempts]
    assert pauses == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0])


@pytest.mark.parametrize("outcome", [AWAY, reply(503), reply(503, **{"retry-after": "1"})])
@pytest.mark.parametrize("retry", [RetryRule.ALWAYS, RetryRule.IF_NOT_PROCESSED])
def test_by_default_all_calls_outlive_an_outage_of_four_seconds(
    outcome: Failure | Reply, retry: RetryRule
) -> None:
    draw = Random(0)
    for _ in range(1_000):
        server = FakeServer(outcome, takes=0.001, back_at=4.0)
        server.now, server.chance = 4 * draw.random(), draw.random
        assert server.run(retry) == 200


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_by_default_a_service_that_stays_away_is_given_up_just_before_15_seconds(
    chance: float,
) -> None:
    server = FakeServer(AWAY, takes=0.001, chance=chance)
    with pytest.raises(ServiceUnavailable, match=r"gave up after \d+ attempts in 14\.5 s"):
        server.run()
    assert 14.5 <= server.now <= 15


def test_a_wait_beyond_the_deadline_ends_in_a_last_attempt_before_it() -> None:
    server = FakeServer(reply(503, **{"retry-after": "60"}), takes=0.01)
    with pytest.raises(ServiceUnavailable, match="gave up after 2 attempts"):
        server.run(deadline=8.0)
    assert server.attempts[1].after == pytest.approx(7.49)
    assert server.now <= 8


def test_by_default_a_service_that_hangs_is_given_up_after_15_seconds() -> None:
    server = FakeServer(LOST, takes=100.0)
    with pytest.raises(ServiceUnavailable):
        server.run()
    assert 14 < server.now <= 15.001


@given(chance=st.floats(0, 1, exclude_max=True))
def test_a_pause_is_anywhere_between_nothing_and_its_bound(chance: float) -> None:
    server = FakeServer(AWAY, chance=chance)
    with pytest.raises(ServiceUnavailable):
        server.run(retries=1)
    assert server.attempts[1].after == pytest.approx(0.1 * chance)


@given(
    takes=st.floats(0, 20), timeout=st.floats(0.01, 20), deadline=st.floats(0.01, 60),
    chance=st.floats(0, 1, exclude_max=True), retries=st.integers(0, 50),
)  # fmt: skip
def test_no_attempt_goes_on_beyond_the_deadline(
    takes: float, timeout: float, deadline: float, chance: float, retries: int
) -> None:
    server = FakeServer(LOST, takes=takes, chance=chance)
    with pytest.raises(ServiceUnavailable):
        server.run(retries=retries, timeout=timeout, deadline=deadline)
    assert server.now <= deadline + 0.001
    assert len(server.attempts) <= retries + 1
    assert all(0 < attempt.timeout <= timeout for attempt in server.attempts)
    assert len({attempt.request_id for attempt in server.attempts}) == 1


@pytest.mark.parametrize(
    ("retry", "outcome", "attempts"),
    [
        (RetryRule.ALWAYS, AWAY, 9),
        (RetryRule.ALWAYS, LOST, 9),
        (RetryRule.IF_NOT_PROCESSED, AWAY, 9),
        (RetryRule.IF_NOT_PROCESSED, LOST, 1),
        (RetryRule.NEVER, AWAY, 1),
        (RetryRule.NEVER, LOST, 1),
        *[(RetryRule.ALWAYS, reply(status), 9) for status in (429, 502, 503, 504)],
        *[(RetryRule.ALWAYS, reply(status), 1) for status in (400, 401, 404, 409, 422, 500)],
        *[(RetryRule.IF_NOT_PROCESSED, reply(status), 9) for status in (429, 503)],
        *[(RetryRule.IF_NOT_PROCESSED, reply(status), 1) for status in (500, 502, 504)],
        *[(RetryRule.NEVER, reply(status), 1) for status in (429, 503)],
    ],
)
def test_how_often_a_request_is_sent(
    retry: RetryRule, outcome: Failure | Reply, attempts: int
) -> None:
    server = FakeServer(outcome)
    with pytest.raises(Exception, match=r"away|lost|without a type"):
        server.run(retry, retries=8)
    assert len(server.attempts) == attempts


def test_a_date_to_come_back_is_seconds_from_now() -> None:
    server = FakeServer(
        reply(503, **{"retry-after": formatdate(time() + 5, usegmt=True)}), chance=0.0
    )
    with pytest.raises(ServiceUnavailable):
        server.run(retries=1)
    assert 3 < server.attempts[1].after <= 5
