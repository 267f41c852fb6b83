"""The authors' package FairDynamicRec, timed on the same environment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any

import numpy as np

from faircascade.engine.job import Progress
from faircascade.environment import Environment
from faircascade.errors import check_choice
from faircascade.experiment.bench.measurement import SEED, Measurement
from faircascade.installation import install_command

PEERS = {"fairdynamicrec": "fair_dynamic_rec"}
"""Packages to measure against, and the module of each."""
USERS = 40
RANKERS = {
    "LinUCB": ("linear_upper_confidence_bound", "LinUCB"),
    "CascadeLSB": ("linear_submodular_bandit", "LSB"),
    "CascadeHybrid": ("hybrid_lsb_linucb", "HybridLSBLinUCB"),
}
"""By the label of our policy: the module and the class of theirs."""


def check_peer(name: str) -> None:
    """Refuse a package that is not known or not installed."""
    check_choice("against", name, PEERS)
    if find_spec(PEERS[name]) is None:
        raise ValueError(
            f"against {name}: the package is not installed; {install_command('peers')}"
        )


@dataclass(frozen=True, kw_only=True)
class PeerRun:
    """One of its classes, served as its simulator does: rank, draw clicks, update."""

    case: str
    environment: Callable[[], Environment]
    slates: int
    """How many slates to time, for a few tens of users."""
    label: str = "LinUCB"
    """Which of `RANKERS`."""

    def prepare(self) -> None:
        self.environment()

    def measure(self, progress: Progress | None = None) -> Measurement:
        full = self.environment()
        env = full.take(slice(0, min(USERS, self.slates, len(full.users))))
        n = len(env.users)
        rounds = -(-self.slates // n)
        ranker, clicks_of = _ranker(env, self.label), _click_model(env)
        X, theta, users = env.items.pool.by_feature.T, env.preferences, np.arange(n)
        begin, begin_cpu = time.perf_counter(), time.process_time()
        for t in range(1, rounds + 1):
            slates = ranker.get_ranking(users, round=t)  # (n, K)
            attraction = np.array([theta[u] @ X[slates[u]].T for u in users])  # (n, K)
            clicks, _ = clicks_of.get_feedback(attraction)
            ranker.update(users, slates, clicks, round=t, user_round=np.full(n, t))
            if progress is not None:
                progress(t / rounds)
        seconds = time.perf_counter() - begin
        return Measurement(
            case=self.case,
            policy=self.label,
            engine="FairDynamicRec",
            users=n,
            items=len(X),
            dim=env.items.dim,
            k=env.k,
            rounds=rounds,
            threads=1,
            recommendations=n * rounds,
            seconds=seconds,
            cores_used=(time.process_time() - begin_cpu) / seconds,
        )


def _ranker(env: Environment, label: str) -> Any:
    """Configure a class of the package as its authors ran the paper."""
    name, of_package = RANKERS[label]
    module = import_module(f"fair_dynamic_rec.core.rankers.{name}")
    X = np.ascontiguousarray(env.items.pool.by_feature.T)  # (p, d)
    topics = np.ascontiguousarray(env.items.pool.by_topic.by_feature.T)  # (p, t)
    config = SimpleNamespace(
        seed=SEED,
        load_model=False,
        feedback_model="cascade",
        list_size=env.k,
        get_ranker_params=list,
        output_path=gettempdir(),
    )
    data = SimpleNamespace(
        n_users=len(env.users),
        n_items=len(X),
        feature_data={"train_item_latent_features": X, "train_item_topical_features": topics},
    )
    parameters = {"alpha": {"value": 0.25}, "sigma": {"value": 1.0}, "gamma": {"value": 0.0}}
    ranker = getattr(module, of_package)(config, data, parameters)
    ranker.writeCB = lambda *_: None  # it appends to a text file for every slate
    return ranker


def _click_model(env: Environment) -> Any:
    module = import_module("fair_dynamic_rec.core.simulators.click_simulator.cascade_model")
    return module.CascadeModel(SimpleNamespace(seed=SEED, list_size=env.k))
