"""The kernel of TopRank: the slates, clicks and comparisons of the loop engine, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate, snapshot
from faircascade.engine.cpu.kernels.blocks import sort_into_blocks
from faircascade.environment import Environment
from faircascade.estimators.toprank import MOST_ITEMS, blocks
from faircascade.policies import TopRank
from tests.engine.same import assert_same
from tests.engine.test_cpu import click_models, observations


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    items=st.sampled_from([1, 5, 10, 30]),
    k=st.sampled_from([1, 4, 30]),
    users=st.sampled_from([1, 9]),
    click_model=click_models,
    observation=observations,
    delta=st.sampled_from([0.9, 0.1, 1e-5]),
    rounds=st.sampled_from([1, 3, 300]),
    activity=st.sampled_from([1.0, 0.4, 1e-9]),
)
def test_the_kernel_has_the_bits_of_the_loop_engine(
    seed, items, k, users, click_model, observation, delta, rounds, activity
) -> None:
    attraction = np.random.default_rng(seed).choice([0.0, 0.1, 0.9, 1.0], size=(users, items))
    env = Environment.from_attraction(
        attraction,
        k=min(k, items),
        click_model=click_model,
        activity=None if seed % 2 else np.linspace(0.01, 1.0, users),
    )
    policy = TopRank(delta=delta, observation=observation)
    run = {"rounds": rounds, "seed": seed, "activity": activity}
    run["realised"] = env.click_model.value_is_clicks
    looped, compiled = (simulate(env, policy, engine=e, **run) for e in ("loop", "cpu"))
    assert_same(compiled, looped)


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.02, 0.1, 0.5]))
def test_blocks_are_those_of_the_estimator_circles_included(seed, m, share) -> None:
    better = np.random.default_rng(seed).random((m, m)) < share
    np.fill_diagonal(better, val=False)
    order, begins = np.zeros(m, dtype=np.int32), np.zeros(m, dtype=np.int32)
    sort_into_blocks(better, order, begins)
    expected = blocks(better[None])[0]
    assert order.tolist() == np.argsort(expected, kind="stable").tolist()
    assert begins.tolist() == [np.count_nonzero(expected < each) for each in expected]


def test_a_run_continues_from_its_snapshot_to_the_same_bits(tmp_path: Path, monkeypatch) -> None:
    env = Environment.from_attraction(np.linspace(0, 0.9, 24).reshape(2, 12)[:, ::-1], k=3)
    run = {"rounds": 400, "checkpoints": [100, 400]}
    policy = TopRank(delta=0.2)
    whole = simulate(env, policy, engine="cpu", **run)
    monkeypatch.setattr(snapshot, "SECONDS", 0.0)
    monkeypatch.setattr(snapshot, "PAUSE", 0.0)

    def stop(share: float) -> None:
        if share >= 0.25:
            raise KeyboardInterrupt

    run["snapshot"] = tmp_path / "run.npz"
    assert simulate(env, policy, engine="cpu", progress=stop, **run).interrupted
    assert_same(simulate(env, policy, engine="cpu", **run), whole)


def test_what_the_kernel_cannot_do_is_refused() -> None:
    env = Environment.from_attraction(np.full((2, 5), 0.1), k=2)
    with pytest.raises(ValueError, match="re-ranker 'exposure-charge' with estimator 'toprank'"):
        simulate(env, TopRank(reranker="exposure-charge"), rounds=5, engine="cpu")
    many = Environment.from_attraction(np.full((1, MOST_ITEMS + 1), 0.1), k=2)
    with pytest.raises(ValueError, match="takes up to 256 of them, got 257"):
        simulate(many, TopRank(), rounds=5, engine="cpu")
