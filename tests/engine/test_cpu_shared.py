"""Users of one model: the slates, clicks and models of the loop engine, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate, snapshot
from faircascade.environment import Environment
from faircascade.estimators import SharedRidge, Tabular
from faircascade.exploration import KLUCB, UCB, UCB1
from faircascade.policies import Bandit, CascadeTS, SharedLinUCB
from faircascade.rewards import ExposureAware, Log, Standard
from tests.engine.same import assert_same
from tests.engine.test_cpu import environments, observations
from tests.environments import small_environment

models = st.one_of(
    st.tuples(
        st.builds(SharedRidge, weighs=st.sampled_from(["targets", "observations"])),
        st.builds(UCB, alpha=st.sampled_from([0.0, 0.25])),
    ),
    st.tuples(st.just(Tabular(scope="shared")), st.sampled_from([UCB1(), KLUCB()])),
)


@settings(max_examples=60, deadline=None)
@given(
    env=environments(),
    model=models,
    reward=st.sampled_from([Standard(), ExposureAware(weight=Log(), gamma=0.1)]),
    observation=observations,
    rounds=st.sampled_from([1, 40]),
    activity=st.sampled_from([1.0, 0.3, 1e-9]),
    threads=st.sampled_from([1, 2]),
)
def test_cpu_gives_what_loop_gives_bit_for_bit(
    env: Environment, model, reward, observation, rounds, activity, threads
) -> None:
    policy = Bandit(
        estimator=model[0], exploration=model[1], reward=reward, observation=observation
    )
    run = {"rounds": rounds, "seed": 4, "activity": activity, "threads": threads}
    looped, compiled = (simulate(env, policy, engine=e, **run) for e in ("loop", "cpu"))
    assert_same(compiled, looped)


def test_a_run_continues_from_its_snapshot_to_the_same_bits(tmp_path: Path, monkeypatch) -> None:
    env = small_environment(users=9, items=40, k=3)
    run = {"rounds": 60, "checkpoints": [20, 60], "engine": "cpu"}
    whole = simulate(env, SharedLinUCB(), **run)
    monkeypatch.setattr(snapshot, "SECONDS", 0.0)
    monkeypatch.setattr(snapshot, "PAUSE", 0.0)

    def stop(share: float) -> None:
        if share >= 0.4:
            raise KeyboardInterrupt

    run["snapshot"] = tmp_path / "run.npz"
    assert simulate(env, SharedLinUCB(), progress=stop, **run).interrupted
    assert_same(simulate(env, SharedLinUCB(), **run), whole)


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        (Bandit(estimator="shared-ridge", exploration="thompson"), "exploration 'thompson'"),
        (CascadeTS(scope="shared"), "exploration 'beta-thompson'"),
        (SharedLinUCB(reranker="ears"), "re-ranker 'ears'"),
    ],
)
def test_slates_that_differ_between_users_are_refused(policy, refused) -> None:
    env = small_environment()
    with pytest.raises(ValueError, match=f"{refused} with an estimator that users share"):
        simulate(env, policy, rounds=5, engine="cpu")
    assert simulate(env, policy, rounds=5).engine == "loop"
