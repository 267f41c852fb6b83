"""The kernel of tabular bandits: the slates, clicks and tables of the loop engine, bit for bit."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.clicks import DCM, PBM, Cascade
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.estimators import Tabular
from faircascade.exploration import (
    KLUCB,
    UCB1,
    BetaThompson,
    Epsilon,
    Exploration,
    GaussianThompson,
)
from faircascade.observations import AllPositions, Examination, FirstClick, LastClick
from faircascade.policies import Bandit, CascadeKLUCB, CascadeUCB1
from faircascade.rewards import Custom, ExposureAware, Log, RewardModel, Standard
from tests.engine.same import assert_same


@st.composite
def environments(draw: st.DrawFn) -> Environment:
    """Tables with ties, sure and hopeless items, sparse and dense features, K = m, K = 1."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    items, users = draw(st.sampled_from([1, 5, 16, 17, 70])), draw(st.sampled_from([1, 3, 9]))
    k = draw(st.sampled_from([1, min(4, items), min(17, items)]))
    attraction = rng.uniform(0, draw(st.sampled_from([0.02, 0.5, 1.0])), size=(users, items))
    if draw(st.booleans()):
        attraction = np.round(attraction, 1)
    X, theta = np.eye(items), attraction
    if draw(st.booleans()):
        X, theta = rng.uniform(size=(items, 3)), rng.uniform(size=(users, 3))
    activity = draw(st.sampled_from([None, rng.uniform(0.01, 1.0, users)]))
    return Environment.from_arrays(X, theta, k=k, activity=activity)


MODELS = [Cascade(), DCM(), PBM()]
OBSERVATIONS = [FirstClick(), LastClick(), AllPositions(), Examination()]


@pytest.mark.parametrize("exploration", [UCB1(), KLUCB(), BetaThompson()])
def test_every_observation_meets_every_kind_of_click_model(exploration: Exploration) -> None:
    attraction = np.random.default_rng(2).uniform(0, 0.5, size=(3, 20))
    for model, observation in product(MODELS, OBSERVATIONS):
        env = Environment.from_arrays(np.eye(20), attraction, k=4, click_model=model)
        policy = Bandit(estimator=Tabular(), exploration=exploration, observation=observation)
        looped, compiled = (simulate(env, policy, rounds=80, engine=e) for e in ("loop", "cpu"))
        assert_same(compiled, looped)


explorations = st.sampled_from(
    [UCB1(), UCB1(scale=0.5), UCB1(scale=0.0), KLUCB(), GaussianThompson(), BetaThompson()]
)
rewards = st.sampled_from(
    [
        Standard(),
        ExposureAware(weight=Log(), gamma=0.1),
        ExposureAware(weight=Custom(weights=lambda k, n: 0.3 * k), gamma=2.0),
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    env=environments(),
    exploration=explorations,
    reward=rewards,
    rounds=st.sampled_from([1, 3, 60, 300]),
    activity=st.sampled_from([1.0, 0.4]),
    lazy=st.booleans(),
    seed=st.integers(0, 3),
)
def test_the_kernel_has_the_bits_of_the_loop_engine(
    env: Environment,
    exploration: Exploration,
    reward: RewardModel,
    rounds: int,
    activity: float,
    lazy: bool,
    seed: int,
) -> None:
    policy = Bandit(estimator=Tabular(), exploration=exploration, reward=reward)
    run = {"rounds": rounds, "seed": seed, "activity": activity, "realised": True}
    looped = simulate(env, policy, engine="loop", **run)
    compiled = simulate(env, policy, engine="cpu", lazy=lazy, **run)
    assert_same(compiled, looped)


@pytest.mark.parametrize(
    ("activity", "observation"), [(1e-9, "first-click"), (1.0, "examination(kappa=0)")]
)
def test_a_run_in_which_nothing_is_seen_has_met_no_items(
    activity, observation, monkeypatch
) -> None:
    monkeypatch.setattr(Examination, "check", lambda self, k: None)  # it would refuse kappa = 0
    env = Environment.from_attraction(np.full((3, 10), 0.3), k=3)
    policy = CascadeUCB1(observation=observation)
    looped, compiled = (
        simulate(env, policy, rounds=3, activity=activity, engine=e) for e in ("loop", "cpu")
    )
    assert_same(compiled, looped)


@pytest.mark.parametrize("policy", [CascadeUCB1(), CascadeKLUCB()])
def test_bounds_hold_over_a_long_run(policy) -> None:
    attraction = np.random.default_rng(5).uniform(0, 0.3, size=(2, 120))
    env = Environment.from_arrays(np.eye(120), attraction, k=6)
    lazy, eager = (
        simulate(env, policy, rounds=20_000, engine="cpu", lazy=lazy) for lazy in (True, False)
    )
    assert_same(lazy, eager)


def test_a_run_continues_from_its_snapshot_to_the_same_bits(tmp_path: Path, monkeypatch) -> None:
    from faircascade.engine import snapshot

    env = Environment.from_arrays(np.eye(20), np.full((3, 20), 0.1), k=3)
    whole = simulate(env, CascadeKLUCB(), rounds=400, engine="cpu", checkpoints=[100, 400])
    monkeypatch.setattr(snapshot, "SECONDS", 0.0)
    monkeypatch.setattr(snapshot, "PAUSE", 0.0)
    path = tmp_path / "run.npz"

    def stop(share: float) -> None:
        if share >= 0.25:
            raise KeyboardInterrupt

    run = {"rounds": 400, "engine": "cpu", "checkpoints": [100, 400], "snapshot": path}
    first = simulate(env, CascadeKLUCB(), progress=stop, **run)
    assert first.interrupted
    assert_same(simulate(env, CascadeKLUCB(), **run), whole)


def test_parts_that_the_kernel_does_not_know_are_refused() -> None:
    env = Environment.from_arrays(np.eye(5), np.full((2, 5), 0.1), k=2)
    for policy, part in (
        (Bandit(estimator=Tabular(), exploration=Epsilon()), "exploration 'epsilon'"),
        (CascadeUCB1(reranker="ears"), "re-ranker 'ears'"),
    ):
        with pytest.raises(ValueError, match=f"{part} with a tabular estimator"):
            simulate(env, policy, rounds=5, engine="cpu")
        assert simulate(env, policy, rounds=5).engine == "loop"
