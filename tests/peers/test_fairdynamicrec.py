"""Agreement with the authors' package, fed the same features, slates and clicks.

Needs the `peers` extra: `make peers`.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from faircascade.policies import EALinUCB, LinUCB, Policy
from faircascade.types import Users
from tests.environments import small_environment
from tests.evidence import feedback_on

theirs = pytest.importorskip(
    "fair_dynamic_rec.core.rankers.linear_upper_confidence_bound",
    reason="FairDynamicRec is not installed: make peers",
)

CONFIGURATIONS = [
    ("linucb", LinUCB(reading="reference"), "cascade", {}),
    ("log", EALinUCB(weight="log", gamma=0.0, reading="reference"), "eacascade", {}),
    ("log", EALinUCB(weight="log", gamma=0.05, reading="reference"), "eacascade", {}),
    ("rbp", EALinUCB(weight="rbp", gamma=0.05, reading="reference"), "eacascade", {"beta": 0.9}),
    (
        "linear",
        EALinUCB(weight="linear", gamma=0.05, reading="reference"),
        "eacascade",
        {"beta": 0.05},
    ),
    (
        "linear",
        EALinUCB(weight="linear", gamma=0.2, sigma=0.5, reading="reference"),
        "eacascade",
        {"beta": 0.05},
    ),
]


def package_ranker(env, policy: Policy, feedback_model: str, name: str, extra: dict, folder: Path):
    """Configure the package's class LinUCB as its authors ran the paper."""
    values = {"alpha": 0.25, "sigma": policy.sigma, "gamma": getattr(policy, "gamma", 0.0)} | extra
    values |= {"window": 1} if feedback_model == "eacascade" else {}
    values |= {"processing_type": f"{name}_reverse"} if feedback_model == "eacascade" else {}
    parameters = {key: {"value": value} for key, value in values.items()}
    config = SimpleNamespace(
        seed=0,
        load_model=False,
        feedback_model=feedback_model,
        list_size=env.k,
        get_ranker_params=list,
        output_path=str(folder),
    )
    data = SimpleNamespace(
        n_users=len(env.users),
        n_items=len(env.items),
        feature_data={
            "train_item_latent_features": env.items.features,
            "train_item_topical_features": env.items.features,
        },
    )
    ranker = theirs.LinUCB(config, data, parameters)
    ranker.writeCB = lambda *_: None  # it appends a text file for every slate
    return ranker


@pytest.mark.parametrize(("name", "policy", "feedback_model", "extra"), CONFIGURATIONS)
def test_models_agree_when_fed_the_same_slates_and_clicks(
    name, policy, feedback_model, extra, tmp_path
) -> None:
    env = small_environment(users=4, items=60, dim=5, k=6, seed=3)
    package = package_ranker(env, policy, feedback_model, name, extra, tmp_path)
    ours = policy.start(Users(ids=env.users.ids), env.items.dim)
    users = np.arange(4)
    for t in range(1, 301):
        slates = package.get_ranking(users, round=t)
        mine = policy.recommend(ours, slice(None), env.items.pool, env.k, round=t, seed=0)
        if t > 1:  # in the first round every score is equal but for rounding
            assert np.array_equal(mine.items, slates)
        response = env.respond(slates, round=t, seed=7)
        clicks = response.clicks.astype(float)
        package.update(users, slates, clicks, round=t, user_round=np.full(4, t))
        policy.update(ours, slice(None), feedback_on(env, slates, response.clicks))
    sums = ours.learned
    assert np.abs(sums.M_inv.transpose(2, 0, 1) - package.MInv).max() < 1e-9
    assert np.abs(sums.B.T - package.b).max() < 1e-9
    assert np.abs(sums.theta.T - package.theta).max() < 1e-9
