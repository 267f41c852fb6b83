"""Agreement with the authors' package, fed the same features, slates and clicks.

Needs the `peers` extra: `make peers`.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from faircascade.policies import CascadeHybrid, CascadeLSB, EALinUCB, LinUCB, Policy
from faircascade.rewards import ExposureAware
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


def package_ranker(
    env, policy: Policy, feedback_model: str, name: str, extra: dict, folder: Path, kind=None
):
    """Configure a class of the package (LinUCB unless said) as its authors ran the paper."""
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
            "train_item_topical_features": env.items.topics,
        },
    )
    ranker = (kind or theirs.LinUCB)(config, data, parameters)
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


ROUNDS = 1000


def _environment():
    topics = np.random.default_rng(5).uniform(0.0, 0.9, size=(60, 3))
    return small_environment(users=4, items=60, dim=5, k=6, seed=3, topics=topics)


def _serve_both(env, policy: Policy, package):
    """Show the package's slates, and let both learn from the clicks; return what we learned.

    Slates must be the same after the first, in which all scores are equal but for rounding. The
    package adds up to 1e-6 to scores to break ties, which it is not let do.
    """
    package.prng = SimpleNamespace(rand=np.zeros)
    ours = policy.start(Users(ids=env.users.ids), policy.dim_of(env.items))
    users = np.arange(len(env.users))
    for t in range(1, ROUNDS + 1):
        slates = package.get_ranking(users, round=t)
        mine = policy.recommend(ours, slice(None), env.items.pool, env.k, round=t, seed=0)
        assert t == 1 or np.array_equal(mine.items, slates)
        response = env.respond(slates, round=t, seed=7)
        clicks = response.clicks.astype(float)
        package.update(users, slates, clicks, round=t, user_round=np.full(len(users), t))
        policy.update(ours, slice(None), feedback_on(env, slates, response.clicks))
    return ours.learned


@pytest.mark.parametrize("name", ["", "log", "rbp", "linear"])
def test_lsb_is_theirs(name, tmp_path) -> None:
    from fair_dynamic_rec.core.rankers.linear_submodular_bandit import LSB

    env = _environment()
    weight = ExposureAware(weight=name, gamma=0.05, reading="reference") if name else "standard"
    policy = CascadeLSB(reading="reference", reward=weight)
    model, extra = ("eacascade", {"gamma": 0.05}) if name else ("cascade", {})
    extra |= {"beta": {"rbp": 0.9, "linear": 0.05}[name]} if name in ("rbp", "linear") else {}
    package = package_ranker(env, policy, model, name, extra, tmp_path, LSB)
    found = _serve_both(env, policy, package)
    assert np.abs(found.M_inv.transpose(2, 0, 1) - package.MInv).max() < 1e-9
    assert np.abs(found.B.T - package.b).max() < 1e-9
    assert np.abs(found.theta.T - package.theta).max() < 1e-9


def test_hybrid_is_theirs_where_every_user_is_served_in_order(tmp_path) -> None:
    """Their class scores with the topical part of the user at that place of the batch, so it is
    right where users are served in order, as here."""
    from fair_dynamic_rec.core.rankers.hybrid_lsb_linucb import HybridLSBLinUCB

    env = _environment()
    policy = CascadeHybrid(reading="reference")
    package = package_ranker(env, policy, "cascade", "", {}, tmp_path, HybridLSBLinUCB)
    found = _serve_both(env, policy, package)
    assert np.abs(found.theta[: env.items.dim].T - package.theta).max() < 1e-9
    assert np.abs(found.theta[env.items.dim :].T - package.beta).max() < 1e-9
