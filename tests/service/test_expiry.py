"""Impressions live as long as they should, whatever happens to the machine's clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.expiry import ExpiryClock, seconds_elapsed
from faircascade.service.maintenance import drop_expired
from faircascade.service.settings import DAY, ServiceSettings
from tests.service.in_process import Clock, learn, recommend, serving

TTL = 100.0
LEAPS = st.sampled_from([0.0] * 6 + [1.0, -1.0, 30.0, -30.0, 150.0, -150.0, 1e9, -1e9])


def test_a_clock_that_is_never_set_is_followed() -> None:
    machine, elapsed = Clock(), Clock(0.0)
    expiry = ExpiryClock(TTL, machine, elapsed)
    for _ in range(500):
        machine.now += 1.0
        elapsed.now += 1.0
        assert expiry() == machine.now


@given(st.lists(st.tuples(LEAPS, st.integers(0, 3)), max_size=120), st.booleans())
def test_nothing_expires_early_and_nothing_stays_for_ever(
    story: list[tuple[float, int]], restart: bool
) -> None:
    """Steps of 5 s; before each the clock may leap, and there may be a restart."""
    machine, elapsed = Clock(), Clock(0.0)
    expiry = ExpiryClock(TTL, machine, elapsed)
    handed_out: list[tuple[float, float]] = []  # the machine's time, the true time
    for leap, chance in [*story, *[(0.0, 1)] * 40]:
        machine.now += leap
        if restart and chance == 0:
            state = expiry.state()
            expiry = ExpiryClock(TTL, machine, elapsed)
            expiry.restore(state)
        expiry()
        handed_out.append((machine.now, elapsed.now))
        machine.now += 5.0
        elapsed.now += 5.0
        oldest = expiry() - TTL
        expired = [times for times in handed_out if times[0] < oldest - 1e-6]
        assert all(elapsed.now - true > TTL - 1e-6 for _, true in expired)
    assert expiry() == pytest.approx(machine.now, abs=1e-6)  # two times to live after the last leap


def test_a_clock_that_is_ahead_for_a_moment_costs_no_slate(tmp_path: Path) -> None:
    async def work() -> None:
        clock, elapsed = Clock(), Clock(0.0)
        settings = ServiceSettings(ttl=DAY / 2)
        async with serving(tmp_path, settings=settings, clock=clock, elapsed=elapsed) as service:
            first, second = [await recommend(service) for _ in range(2)]
            clock.now += DAY
            await drop_expired(service)
            await learn(service, first, clicked_position=1)
            clock.now -= DAY
            await learn(service, second, clicked_position=1)

    asyncio.run(work())


def test_a_service_that_starts_while_the_clock_is_ahead_drops_no_slate(tmp_path: Path) -> None:
    async def work() -> None:
        clock, elapsed = Clock(), Clock(0.0)
        settings = ServiceSettings(ttl=DAY / 2)
        async with serving(tmp_path, settings=settings, clock=clock, elapsed=elapsed) as service:
            shown = await recommend(service)
            await drop_expired(service)
        clock.now += DAY
        async with serving(tmp_path, settings=settings, clock=clock, elapsed=elapsed) as service:
            await drop_expired(service)
            await learn(service, shown, clicked_position=1)

    asyncio.run(work())


def test_elapsed_time_grows() -> None:
    assert seconds_elapsed() <= seconds_elapsed()
