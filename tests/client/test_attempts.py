"""When to try again and how long to wait, without a network or a clock."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.client import ServiceUnavailable
from faircascade.client.attempts import Attempt, Failure, Settings, conduct
from faircascade.client.messages import Again, Reply, Request, Steps

AWAY = Failure(what="away", unsent=True)
LOST = Failure(what="lost", unsent=False)


def reply(status: int, **headers: str) -> Reply:
    return Reply(status=status, headers=headers, content=b"{}", sent_as="x")


def ask(again: Again) -> Steps[int]:
    return (yield Request(method="POST", path="/", again=again)).status


class World:
    """A clock that attempts and pauses advance; every attempt has the same outcome."""

    def __init__(
        self, outcome: Failure | Reply, *, takes: float = 0.0, chance: float = 1.0
    ) -> None:
        self.now, self.outcome, self.takes = 0.0, outcome, takes
        self.attempts: list[Attempt] = []
        self.clock: Callable[[], float] = lambda: self.now
        self.chance: Callable[[], float] = lambda: chance

    def run(self, again: Again = Again.ALWAYS, **settings: float) -> None:
        patience = Settings(clock=self.clock, chance=self.chance, **settings)
        flow = conduct(ask(again), patience)
        attempt = next(flow)
        while True:
            self.attempts.append(attempt)
            self.now += attempt.after + min(self.takes, attempt.timeout)
            attempt = flow.send(self.outcome)


def test_pauses_double_up_to_a_bound() -> None:
    world = World(AWAY)
    with pytest.raises(ServiceUnavailable):
        world.run(retries=8, deadline=100.0)
    pauses = [attempt.after for attempt in world.attempts]
    assert pauses == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0])


@pytest.mark.parametrize(("chance", "seconds"), [(0.5, 4.55), (1.0, 9.1)])
def test_by_default_a_service_may_take_seconds_to_come_back(chance: float, seconds: float) -> None:
    """0.1 + 0.2 + 0.4 + 0.8 + 1.6 + 2 + 2 + 2 = 9.1 at most, half of it on average."""
    world = World(AWAY, chance=chance)
    with pytest.raises(ServiceUnavailable, match="gave up after 9 attempts"):
        world.run()
    assert world.now == pytest.approx(seconds)


def test_by_default_a_service_that_hangs_is_given_up_after_15_seconds() -> None:
    world = World(LOST, takes=100.0)
    with pytest.raises(ServiceUnavailable):
        world.run()
    assert 14 < world.now <= 15.001


@given(chance=st.floats(0, 1, exclude_max=True))
def test_a_pause_is_anywhere_between_nothing_and_its_bound(chance: float) -> None:
    world = World(AWAY, chance=chance)
    with pytest.raises(ServiceUnavailable):
        world.run(retries=1)
    assert world.attempts[1].after == pytest.approx(0.1 * chance)


@given(
    takes=st.floats(0, 20), timeout=st.floats(0.01, 20), deadline=st.floats(0.01, 60),
    chance=st.floats(0, 1, exclude_max=True), retries=st.integers(0, 50),
)  # fmt: skip
def test_no_attempt_goes_on_beyond_the_deadline(
    takes: float, timeout: float, deadline: float, chance: float, retries: int
) -> None:
    world = World(LOST, takes=takes, chance=chance)
    with pytest.raises(ServiceUnavailable):
        world.run(retries=retries, timeout=timeout, deadline=deadline)
    assert world.now <= deadline + 0.001
    assert len(world.attempts) <= retries + 1
    assert all(0 < attempt.timeout <= timeout for attempt in world.attempts)
    assert len({attempt.request_id for attempt in world.attempts}) == 1


@pytest.mark.parametrize(
    ("again", "outcome", "attempts"),
    [
        (Again.ALWAYS, AWAY, 9),
        (Again.ALWAYS, LOST, 9),
        (Again.UNDONE, AWAY, 9),
        (Again.UNDONE, LOST, 1),
        (Again.NEVER, AWAY, 1),
        (Again.NEVER, LOST, 1),
        *[(Again.ALWAYS, reply(status), 9) for status in (429, 502, 503, 504)],
        *[(Again.ALWAYS, reply(status), 1) for status in (400, 401, 404, 409, 422, 500)],
        *[(Again.UNDONE, reply(status), 9) for status in (429, 503)],
        *[(Again.UNDONE, reply(status), 1) for status in (500, 502, 504)],
        *[(Again.NEVER, reply(status), 1) for status in (429, 503)],
    ],
)
def test_how_often_a_request_is_sent(again: Again, outcome: Failure | Reply, attempts: int) -> None:
    world = World(outcome)
    with pytest.raises(Exception, match=r"away|lost|without a type"):
        world.run(again)
    assert len(world.attempts) == attempts


def test_a_date_to_come_back_is_seconds_from_now() -> None:
    world = World(reply(503, **{"retry-after": formatdate(time() + 5, usegmt=True)}), chance=0.0)
    with pytest.raises(ServiceUnavailable):
        world.run(retries=1)
    assert 3 < world.attempts[1].after <= 5
