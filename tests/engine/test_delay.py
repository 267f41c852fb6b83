"""Feedback that comes late: learned when it is due, in order, and once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade import registry
from faircascade.engine import simulate, snapshot
from faircascade.environment import Delay
from faircascade.policies import EALinUCB, LinUCB
from faircascade.random import uniforms
from faircascade.testing import check_delay
from tests.engine.test_snapshot import stop_after
from tests.environments import small_environment
from tests.evidence import feedback_on


@pytest.fixture(autouse=True)
def registered():
    """Delays that the tests know by name, for as long as they run."""
    registry.components("delay")

    @registry.register("some-rounds")
    @dataclass(frozen=True, kw_only=True)
    class SomeRounds(Delay):
        """Waits for 0 up to `most` rounds, at random."""

        most: int = 3
        """Rounds to wait at most, >= 0."""

        def rounds(self, users, round, seed):
            luck = uniforms(seed, "some-rounds", users, [round])
            return (luck * (self.most + 1)).astype(np.int64)

    yield
    del registry.names.registered["delay"]["some-rounds"]


def late(most: int) -> Delay:
    return registry.build("delay", "some-rounds", {"most": most})


def test_it_keeps_the_contract() -> None:
    check_delay(late(3))


def test_feedback_is_learned_in_the_round_it_is_due() -> None:
    env, policy, seed = replace(small_environment(users=5), delay=late(4)), EALinUCB(gamma=0.1), 3
    state = policy.start(env.users, env.items.dim)
    waiting: list[tuple[int, int, int, Any]] = []  # (due, shown, user, feedback)
    for t in range(1, 31):
        slates = policy.recommend(state, slice(None), env.items.pool, 3, round=t, seed=seed).items
        clicks = env.respond(slates, round=t, seed=seed).clicks
        waits = env.delay.rounds(env.users.keys, t, seed)
        for user in range(5):
            one = feedback_on(env, slates[user : user + 1], clicks[user : user + 1])
            waiting.append((t + int(waits[user]), t, user, one))
        for due, _, user, one in sorted(waiting, key=lambda entry: entry[:3]):
            if due == t:
                policy.update(state, np.array([user]), one)
    result = simulate(env, policy, rounds=30, seed=seed)
    assert result.engine == "loop"
    for name, array in policy.arrays(state).items():
        assert np.array_equal(policy.arrays(result.state)[name], array), name
    assert result.state.learned.updates.sum() == sum(due <= 30 for due, *_ in waiting)


def test_no_delay_at_all_is_no_delay() -> None:
    env = small_environment(users=8)
    at_once = simulate(env, LinUCB(), rounds=25, seed=1)
    assert simulate(replace(env, delay=late(0)), LinUCB(), rounds=25, seed=1).metrics == (
        at_once.metrics
    )


def test_users_who_stay_away_get_their_feedback_learned_even_so() -> None:
    env = replace(small_environment(users=30), delay=late(5))
    result = simulate(env, LinUCB(), rounds=60, seed=1, activity=0.3)
    learned = result.state.learned.updates.sum()
    assert result.recommendations * 0.8 < learned < result.recommendations


def test_a_run_goes_on_with_what_was_on_its_way(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("faircascade.engine.loop.STEP", 70)
    monkeypatch.setattr("faircascade.engine.loop.SHARD", 4)
    env, path = replace(small_environment(users=10), delay=late(6)), tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 40, "seed": 2, "threads": 2}
    whole = simulate(env, LinUCB(), **run)
    stopped = simulate(env, LinUCB(), snapshot=path, progress=stop_after(0.4), **run)
    assert stopped.interrupted
    assert 0 < stopped.rounds < 40
    again = simulate(env, LinUCB(), snapshot=path, **run)
    assert again.metrics == whole.metrics
    assert np.array_equal(again.state.learned.theta, whole.state.learned.theta)
    assert snapshot.VERSION >= 2


def test_a_compiled_engine_refuses_it() -> None:
    with pytest.raises(ValueError, match="engine 'cpu' does not support delay 'some-rounds'"):
        simulate(replace(small_environment(), delay=late(1)), LinUCB(), rounds=3, engine="cpu")
