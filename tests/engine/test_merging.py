"""Parts of the users, simulated apart, are the whole to the last bit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import Result, join_parts, simulate, splittable
from faircascade.environment import Environment
from faircascade.policies import EALinUCB, LinUCB, Policy, Random
from tests.engine.same import COMPILED, EVERY_POLICY, SHARING, assert_same
from tests.engine.test_cpu import environments, policies
from tests.environments import small_environment

RUNS: list[dict[str, Any]] = [
    {"rounds": 30},
    {"rounds": 30, "realised": True, "activity": 0.3, "checkpoints": [1, 7, 30]},
]


def in_parts(env: Environment, policy: Policy, edges: list[int], **options: Any) -> list[Result]:
    return [simulate(env.take(slice(a, b)), policy, **options) for a, b in pairwise(edges)]


@pytest.mark.parametrize("engine", ["loop", "cpu"])
@pytest.mark.parametrize("options", RUNS, ids=["all come", "some come"])
@pytest.mark.parametrize("policy", [*filter(splittable, COMPILED)], ids=repr)
def test_any_number_of_parts_is_the_whole(policy: Policy, options: dict, engine: str) -> None:
    env = small_environment(users=19, items=40)
    options = {**options, "seed": 3, "engine": engine}
    whole = simulate(env, policy, **options)
    for parts in (2, 3, 7):
        edges = [19 * part // parts for part in range(parts + 1)]
        joined = join_parts(env, in_parts(env, policy, edges, **options))
        assert_same(whole, joined)
        assert joined.env is env
        assert joined.summary().keys() == whole.summary().keys()
        for name in ("policy", "seed", "engine", "engine_reason", "realised", "activity"):
            assert getattr(joined, name) == getattr(whole, name)
        assert not joined.interrupted


@settings(max_examples=30)
@given(env=environments(), policy=policies, data=st.data())
def test_any_cut_of_any_environment_is_the_whole(env, policy, data) -> None:
    n = len(env.users)
    inner = data.draw(st.sets(st.integers(1, n - 1)) if n > 1 else st.just(set()))
    options = {
        "rounds": data.draw(st.integers(1, 40)),
        "activity": data.draw(st.sampled_from([1.0, 0.2])),
        "realised": data.draw(st.booleans()) and env.click_model.value_is_clicks,
        "threads": data.draw(st.sampled_from([1, 2])),
    }
    engines = [data.draw(st.sampled_from(["loop", "cpu"])) for _ in range(2)]
    parts = in_parts(env, policy, [0, *sorted(inner), n], engine=engines[0], **options)
    joined = join_parts(env, parts)
    assert_same(simulate(env, policy, engine=engines[0], **options), joined)


def test_seconds_add_up_and_every_engine_is_named_once() -> None:
    env = small_environment(users=6)
    parts = [
        simulate(env.take(slice(a, b)), LinUCB(), rounds=9, engine=engine)
        for a, b, engine in ((0, 2, "cpu"), (2, 4, "loop"), (4, 6, "cpu"))
    ]
    joined = join_parts(env, parts)
    assert joined.seconds == sum(part.seconds for part in parts)
    assert (joined.engine, joined.engine_reason) == ("cpu, loop", "asked for")


def test_parts_that_ended_early_together_are_an_interrupted_whole(monkeypatch) -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    env = small_environment(users=6)
    options: dict = {"rounds": 30_000, "engine": "loop", "checkpoints": [9, 30_000]}
    parts = in_parts(env, Random(), [0, 2, 6], progress=interrupt, **options)
    assert [part.rounds for part in parts] == [9, 9]
    joined = join_parts(env, parts)
    assert joined.interrupted
    assert joined.rounds == 9


def test_who_can_be_simulated_apart() -> None:
    assert all(splittable(policy) for policy in EVERY_POLICY if not policy.indivisible)
    assert not any(splittable(policy) for policy in SHARING)


@pytest.mark.parametrize("policy", SHARING, ids=repr)
def test_users_who_share_an_account_are_no_parts(policy: Policy) -> None:
    env = small_environment(users=6)
    with pytest.raises(ValueError, match="must be of a policy whose users are independent"):
        join_parts(env, in_parts(env, policy, [0, 2, 6], rounds=3))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(2, 6), (0, 2)], r"in their order; part 1 is not of env.take\(slice\(0, 4, None\)\)"),
        ([(0, 2), (3, 6)], r"part 2 is not of env.take\(slice\(2, 5, None\)\)"),
        ([(0, 4), (2, 6)], "part 2 is not of"),
        ([(0, 6), (0, 6)], "part 2 is not of"),
        ([(0, 2), (2, 5)], "parts must cover all 6 users of env, got the first 5"),
        ([], "parts must be at least one result, got none"),
    ],
)
def test_parts_that_are_not_the_users_in_their_order_are_refused(edges, message) -> None:
    env = small_environment(users=6)
    parts = [simulate(env.take(slice(a, b)), LinUCB(), rounds=3) for a, b in edges]
    with pytest.raises(ValueError, match=message):
        join_parts(env, parts)


def test_parts_of_another_environment_are_refused() -> None:
    parts = in_parts(small_environment(users=6, seed=1), LinUCB(), [0, 2, 6], rounds=3)
    with pytest.raises(ValueError, match="part 1 is not of"):
        join_parts(small_environment(users=6), parts)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"policy": EALinUCB()}, "the same policy, got LinUCB"),
        ({"policy": LinUCB(alpha=1.0)}, "the same policy, got LinUCB"),
        ({"seed": 4}, "the same seed, got 0 and 4"),
        ({"activity": 0.5}, r"the same activity, got 1.0 and 0.5"),
        ({"realised": True}, "the same realised, got False and True"),
        ({"rounds": 8}, "the same rounds, got 9 and 8"),
        ({"checkpoints": [2, 9]}, "the same checkpoints"),
    ],
)
def test_parts_of_different_runs_are_refused(changed: dict, message: str) -> None:
    env = small_environment(users=6)
    run: dict = {"policy": LinUCB(), "rounds": 9}
    parts = [
        simulate(env.take(slice(0, 2)), **run),
        simulate(env.take(slice(2, 6)), **{**run, **changed}),
    ]
    with pytest.raises(ValueError, match=message):
        join_parts(env, parts)


def test_parts_of_another_precision_are_refused() -> None:
    env = small_environment(users=6)
    first, second = in_parts(env, LinUCB(), [0, 2, 6], rounds=3)
    with pytest.raises(ValueError, match="the same precision, got float64 and float32"):
        join_parts(env, [first, replace(second, precision="float32")])
