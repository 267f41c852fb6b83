"""One account for all users in the compiled engine: the same bits as `loop`, round by round."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from faircascade.engine import loop, simulate
from faircascade.policies import (
    EALinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    LogisticUCB,
    Policy,
    SharedLinUCB,
)
from faircascade.rerankers import PMMF, AlphaFair, FairCo, FrankWolfe, MinShare
from tests.environments import small_environment

GROUPS = {"supplier": [f"s{i % 7}|s{i % 3}" for i in range(60)]}
POLICIES: list[Policy] = [
    LinUCB(reranker=FairCo(strength=0.05)),
    LinUCB(reranker=FairCo(strength=0.05, by="supplier", half_life=5.0)),
    LinTS(reranker=FairCo(strength=0.05)),
    EALinUCB(reranker=PMMF(by="supplier", step=0.05)),
    EpsilonGreedy(reranker=PMMF(step=0.05, horizon=300), epsilon=0.3),
    LinUCB(reranker=FrankWolfe(welfare=AlphaFair(alpha=2.0), by="supplier")),
    LinUCB(reranker=FrankWolfe(welfare="gini", merit=True)),
    LogisticUCB(reranker=MinShare(share=0.6)),
    FRMLinUCB(variant="exposure-charge", eta=0.05, ledger="global"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("activity", [1.0, 0.4])
def test_slates_and_accounts_are_those_of_loop(
    policy: Policy, activity: float, monkeypatch
) -> None:
    monkeypatch.setattr(loop, "SHARD", 4)
    env = small_environment(users=19, items=60, k=4, groups=GROUPS)
    run = {"rounds": 25, "seed": 3, "activity": activity, "checkpoints": [10, 25]}
    looped = simulate(env, policy, engine="loop", threads=3, **run)
    compiled = simulate(env, policy, engine="cpu", threads=2, **run)
    assert compiled.engine == "cpu"
    assert compiled.metrics == looped.metrics
    assert np.array_equal(compiled.tally.appearances, looped.tally.appearances)
    found, expected = (policy.arrays(result.state) for result in (compiled, looped))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.array_equal(found[name], array), name


def test_a_run_that_goes_on_from_a_snapshot_is_the_run_in_one_piece(tmp_path) -> None:
    env = small_environment(users=9, items=60, k=4, groups=GROUPS)
    policy = LinUCB(reranker=PMMF(by="supplier", step=0.05))
    whole = simulate(env, policy, rounds=30, seed=1, engine="cpu")

    def interrupt(share: float) -> None:
        if share > 0.4:
            raise KeyboardInterrupt

    path = tmp_path / "snapshot"
    first = simulate(
        env, policy, rounds=30, seed=1, engine="cpu", snapshot=path, progress=interrupt
    )
    assert first.interrupted
    for engine in ("cpu", "loop"):
        copy = shutil.copy(path, tmp_path / engine)
        rest = simulate(env, policy, rounds=30, seed=1, engine=engine, snapshot=copy)
        assert rest.metrics == whole.metrics


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        (LinUCB(reranker=FairCo(ledger="user")), "re-ranker 'fairco'"),
        (SharedLinUCB(reranker="fairco"), "re-ranker 'fairco' with an estimator that users share"),
        (LinUCB(reranker="reorder(ledger=global)"), "whose users share what they know"),
    ],
)
def test_what_it_does_not_support_is_refused(policy: Policy, what: str) -> None:
    with pytest.raises(ValueError, match=f"engine 'cpu' does not support .*{what}"):
        simulate(small_environment(), policy, rounds=5, engine="cpu")


def test_the_gpu_refuses_an_account_of_all() -> None:
    with pytest.raises(ValueError, match="engine 'gpu' "):
        simulate(small_environment(), LinUCB(reranker="fairco"), rounds=5, engine="gpu")
