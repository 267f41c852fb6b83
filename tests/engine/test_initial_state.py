"""Simulations that begin with what a ranker has learned."""

from __future__ import annotations

import numpy as np
import pytest

import faircascade as fc
from faircascade.engine.initial_state import initial_state
from faircascade.engine.job import Job
from faircascade.engine.snapshot import identity
from faircascade.errors import ParameterError

ENGINES = ("loop", "cpu")
POLICIES = [
    fc.LinUCB(),
    fc.EALinUCB(weight="log"),
    fc.LinTS(),
    fc.policies.CascadeKLUCB(),
    fc.policies.LogisticUCB(),
]


def env_of(users: int = 12) -> fc.Environment:
    luck = np.random.default_rng(1)
    return fc.Environment.from_arrays(
        luck.normal(size=(20, 3)) / 3, luck.normal(size=(40, 3))[:users] / 2, k=4
    )


def same(one: fc.Result, other: fc.Result) -> bool:
    mine, theirs = (run.policy.arrays(run.state) for run in (one, other))
    numbers = [name for name in mine if mine[name].dtype.kind == "f"]
    return all(np.allclose(mine[name], theirs[name]) for name in numbers)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
def test_a_ranker_that_knows_nothing_is_its_policy(policy, engine) -> None:
    env = env_of()
    ranker = fc.Ranker(policy, items=env.items)
    plain = fc.simulate(env, policy, rounds=6, seed=3, engine=engine)
    begun = fc.simulate(env, ranker, rounds=6, seed=3, engine=engine)
    assert begun.policy == policy
    assert np.array_equal(begun.tally.appearances, plain.tally.appearances)
    assert same(begun, plain)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
def test_engines_agree_on_a_ranker_that_has_learned(policy) -> None:
    env = env_of()
    earlier = fc.simulate(env, policy, rounds=30, seed=5, engine="loop")
    ranker = fc.Ranker.from_result(earlier)
    before = ranker.learned()[1:]
    loop, cpu = (fc.simulate(env, ranker, rounds=20, seed=6, engine=e) for e in ENGINES)
    assert np.array_equal(loop.tally.appearances, cpu.tally.appearances)
    assert same(loop, cpu)
    assert ranker.learned()[1:] == before
    scratch = fc.simulate(env, policy, rounds=20, seed=6, engine="loop")
    assert loop.regret < scratch.regret


def test_users_are_found_by_their_ids_and_new_ones_begin_with_nothing() -> None:
    few, many = env_of(12), env_of(40)
    learned = fc.simulate(few, fc.LinUCB(), rounds=40, seed=5, engine="loop")
    ranker = fc.Ranker.from_result(learned)
    order = np.random.default_rng(0).permutation(40)
    users = fc.Environment.from_arrays(
        many.items.features, many.preferences[order], k=4, user_ids=many.users.ids[order]
    )
    run = fc.simulate(users, ranker, rounds=1, seed=5, engine="loop")
    plain = fc.simulate(users, fc.LinUCB(), rounds=1, seed=5, engine="loop")
    sums = run.policy.sums(run.state) - plain.policy.sums(plain.state)
    known = users.users.ids < 12
    assert (np.abs(sums[known]).sum(axis=1) > 1).all()
    assert np.allclose(sums[~known], 0)


def test_features_must_be_those_that_the_ranker_knows() -> None:
    env = env_of()
    ranker = fc.Ranker(fc.LinUCB(), items=env.items)
    other = fc.Environment.from_arrays(env.items.features * 2, env.preferences, k=4)
    with pytest.raises(ParameterError, match="with the same features; from a log"):
        fc.simulate(other, ranker, rounds=2)


def test_a_snapshot_is_of_the_ranker_that_a_run_began_with() -> None:
    env = env_of()
    learned = fc.simulate(env, fc.LinUCB(), rounds=20, seed=5, engine="loop")
    start = initial_state(fc.Ranker.from_result(learned), env)
    jobs = [
        Job(env=env, policy=fc.LinUCB(), checkpoints=(5,), seed=0, threads=1, start=begun)
        for begun in (None, start, fc.LinUCB().start(env.users, env.items.dim))
    ]
    assert len({str(identity(job)) for job in jobs}) == 3
