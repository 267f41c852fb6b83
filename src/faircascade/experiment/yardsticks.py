"""What every table is read against: the optimal slates, and slates drawn at random.

Neither is simulated. In an environment that stands still the optimal slates are the same in every
round, and slates drawn at random show every eligible item equally often in the long run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from faircascade.engine import Result
from faircascade.engine.result import eligible_metrics, item_metrics
from faircascade.environment import Environment
from faircascade.metrics import Record, Tally
from faircascade.policies import Optimal, Policy, Random
from faircascade.random import uniforms
from faircascade.types import Floats

_SLATES = 10_000
"""Random slates from which their value is estimated, at least: its error is about 1%."""


def yardsticks(result: Result) -> dict[str, dict[str, float]]:
    """Return the metrics of optimal and of random slates; none where the environment changes.

    Metrics that depend on how a run went (clicked, fairness regret of random slates) are left out.
    """
    env = result.env
    if not env.stands_still:
        return {}
    optimum = env.optimum(1)
    best, drawn = result.optimal_value, random_value(env, seed=result.seed)
    known = env.click_model.value_is_clicks
    shown = Tally.empty(checkpoints=[1], items=len(env.items), k=env.k, users=len(env.users))
    shown.count(0, 1, optimum.slates, np.zeros(optimum.slates.shape, dtype=bool))
    even = Tally.empty(checkpoints=[1], items=len(env.items), k=env.k, users=len(env.users))
    even.appearances[0, env.items.eligible] = 1
    found = {
        "optimal": {"regret": 0.0} | ({"clicks": best} if known else {}) | _fairness(shown, env),
        "random": {"regret": result.rounds * (best - drawn)}
        | ({"clicks": drawn} if known else {})
        | _fairness(even, env),
    }
    for name in [name for name in found["optimal"] if name.endswith("fairness_regret")]:
        found["optimal"][name] *= result.rounds
        del found["random"][name]
    if not env.click_model.best_is_optimal:  # others may do better than what it takes as best
        del found["optimal"], found["random"]["regret"]
    return {
        name: {metric: value for metric, value in of.items() if math.isfinite(value)}
        for name, of in found.items()
    }


def mean_yardsticks(
    found: Sequence[Mapping[str, Mapping[str, float]]], policies: Iterable[Policy]
) -> dict[str, dict[str, float]]:
    """Return the means over seeds, without those that policies are anyway."""
    ran = {type(policy) for policy in policies}
    means = {}
    for name, kind in (("optimal", Optimal), ("random", Random)):
        every = [of[name] for of in found if name in of]
        if every and len(every) == len(found) and kind not in ran:
            shared = [metric for metric in every[0] if all(metric in of for of in every)]
            means[name] = {m: math.fsum(of[m] for of in every) / len(every) for m in shared}
    return means


def random_value(env: Environment, *, seed: int) -> float:
    """Return the expected value of a slate drawn at random, mean over users; an estimate.

    Users get K neighbours in a shuffled pool: each slate is a uniform draw.
    """
    pool, users = env.items.pool, len(env.users)
    at = (np.arange(users)[:, None] * env.k + np.arange(env.k)) % len(pool)  # (n, K)
    values: list[Floats] = []
    for draw in range(max(1, -(-_SLATES // users))):
        order = np.argsort(uniforms(seed, "random slates", draw, pool.keys), kind="stable")
        slates = pool.rows[order[at]]
        values.append(env.click_model.value(env.attraction(slates), slates))
    return math.fsum(np.concatenate(values)) / (len(values) * users)


def _fairness(tally: Tally, env: Environment) -> dict[str, float]:
    record = Record.of(tally, env.items)
    return {name: m.measure(record) for name, m in (item_metrics() | eligible_metrics(env)).items()}
