"""Do the intervals of `fc.evaluate` cover the truth, and where does each estimator fail?

Logs of users drawn from a population in which everything is known: what every slate is worth to
every user, and how much exposure each policy gives to each item. A log is evaluated for three
policies (near the logging policy, far from it, random slates); estimates and intervals are
compared with the truth of the population. Writes `coverage.csv` (share of intervals that have the
truth in them, by click model, users, policy, estimator and verdict), `errors.csv` (bias, standard
deviation, root mean squared error) and `errors.png`.

    python benchmarks/evaluation_coverage.py --logs 1000 --out runs/evaluation-coverage
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import faircascade as fc
from faircascade.data.log import Log
from faircascade.evaluation.estimators import ESTIMATORS
from faircascade.evaluation.frozen import FrozenPolicy
from faircascade.exploration.epsilon import best_left, mingle, place_chances
from faircascade.metrics.exposure import evenness
from faircascade.metrics.tally import discounts
from faircascade.policies import Policy, Random
from faircascade.propensities import Propensities, ranks_in
from faircascade.types import Items, Slates, Users

POPULATION, ITEMS, DIM, K = 20_000, 12, 4, 3
_world = 0
"""Which items and population; 0 is the one that the rules of the verdict were chosen by."""
VISITS = 25
"""Impressions of each user."""
KAPPA = np.array([1.0, 0.6, 0.35])
LOGGING_EPSILON = 0.5


@dataclass(frozen=True, kw_only=True)
class Greedy(Policy):
    """Epsilon-greedy by preferences that are known, mixed with such that have nothing to do."""

    epsilon: float
    agreement: float
    """1 ranks as users like it, 0 as they do not care."""
    name = "greedy-by-preference"
    learns = False

    @property
    def label(self) -> str:
        return f"greedy {self.agreement:g}"

    @property
    def is_random(self) -> bool:
        return self.epsilon > 0

    def start(self, users: Users, dim: int) -> Users:
        return users

    def take(self, state: Users, users: Any) -> Users:
        return state[users]

    def join(self, states: Sequence[Users]) -> Users:
        return Users.join(states)

    def _greedy(self, state: Users, users: Any, k: int) -> np.ndarray:
        own = state.preferences[users]
        theta = self.agreement * own[:, :DIM] + (1 - self.agreement) * own[:, DIM:]
        return np.argsort(-(theta @ catalogue().features.T), axis=1)[:, :k]

    def recommend(self, state, users, pool, k, *, round, seed) -> Slates:
        greedy = self._greedy(state, users, k)
        rng = np.random.default_rng([seed % 2**63, int(np.sum(round)), len(greedy)])
        explore, lots = rng.random((2, *greedy.shape))
        items = mingle(greedy, explore < self.epsilon, lots, pool.rows)
        return Slates(items=items, scores=np.zeros(items.shape))

    def propensities(self, state, users, pool, slates, *, round, seed) -> Propensities | None:
        if not self.epsilon:
            return None
        k = slates.shape[1]
        rank = ranks_in(self._greedy(state, users, k), slates)
        left = len(pool) - np.arange(k)
        choices = self.epsilon / left + (1 - self.epsilon) * (rank == best_left(rank))
        table = place_chances(self.epsilon, k, len(pool))
        return Propensities.of_choices(choices, table[rank, np.arange(k)])


LOGGING = Greedy(epsilon=LOGGING_EPSILON, agreement=0.6)
POLICIES: dict[str, Policy] = {
    "near": Greedy(epsilon=0.3, agreement=0.8),
    "far": Greedy(epsilon=0.0, agreement=0.0),
    "random": Random(),
}


@cache
def catalogue() -> Items:
    rng = np.random.default_rng([7, _world] if _world else 7)
    return Items.of(rng.normal(size=(ITEMS, DIM)) / 2)


@cache
def population() -> Users:
    rng = np.random.default_rng([8, _world] if _world else 8)
    taste = rng.normal(size=(POPULATION, DIM)) + np.array([0.6, 0.3, 0.0, 0.0])
    other = rng.normal(size=(POPULATION, DIM)) - np.array([0.0, 0.0, 0.6, 0.3])
    return Users(ids=np.arange(POPULATION), preferences=np.hstack([taste, other]))


@cache
def attraction() -> np.ndarray:
    """Return how much each item attracts each user of the population, (n, m)."""
    return 1 / (1 + np.exp(1.2 - population().preferences[:, :DIM] @ catalogue().features.T))


def expected_clicks(model: str, w: np.ndarray) -> np.ndarray:
    """Return the clicks that slates with attraction w (n, K) are worth, (n,)."""
    return w @ KAPPA[: w.shape[1]] if model == "pbm" else 1 - np.prod(1 - w, axis=1)


def clicks(model: str, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    attracted = rng.random(w.shape) < w
    if model == "pbm":
        return attracted & (rng.random(w.shape) < KAPPA)
    return attracted & (np.cumsum(attracted, axis=1) == 1)


@dataclass(frozen=True)
class Truth:
    clicks: dict[str, float]
    equality_b: float
    equality_p: float


@cache
def truth(policy: str) -> Truth:
    """Return what a policy gives the population: the mean over many own slates."""
    chosen, users, pool = POLICIES[policy], population(), catalogue().pool
    draws = 200 if chosen.is_random else 1
    shown = np.zeros((ITEMS, K))
    worth = {"cascade": 0.0, "pbm": 0.0}
    for draw in range(draws):
        slates = chosen.recommend(
            users, np.arange(len(users)), pool, K, round=draw + 1, seed=100 + draw
        ).items
        w = np.take_along_axis(attraction(), slates, axis=1)
        for model in worth:
            worth[model] += float(expected_clicks(model, w).mean()) / draws
        for position in range(K):
            shown[:, position] += np.bincount(slates[:, position], minlength=ITEMS)
    if policy == "random":
        return Truth(worth, 1.0, 1.0)
    return Truth(worth, evenness(shown.sum(axis=1)), evenness(shown @ discounts(K)))


def simulated_log(model: str, users: int, seed: int) -> tuple[Log, Users]:
    """Return a log of users drawn from the population, and who they are."""
    rng = np.random.default_rng([11, seed, users, model == "pbm"])
    drawn = rng.integers(POPULATION, size=users)
    people = Users(ids=np.arange(users), preferences=population().preferences[drawn])
    who = np.tile(np.arange(users), VISITS)
    pool = catalogue().pool
    slates = LOGGING.recommend(people, who, pool, K, round=1, seed=int(rng.integers(2**62))).items
    chances = LOGGING.propensities(people, who, pool, slates, round=1, seed=0)
    hits = clicks(model, np.take_along_axis(attraction()[drawn[who]], slates, axis=1), rng)
    n = len(who)
    table = pa.table(
        {
            "slate_id": np.repeat(np.arange(n), K),
            "user_id": np.repeat(who, K),
            "position": np.tile(np.arange(1, K + 1), n),
            "item_id": slates.ravel(),
            "click": hits.ravel().astype(np.int8),
            "pscore": np.repeat(chances.cascade[:, -1], K),
            "pscore_cascade": chances.cascade.ravel(),
            "pscore_item_position": chances.item_position.ravel(),
        }
    )
    return Log(table, name=f"{model} {users}"), people


Row = dict[str, Any]


def evaluated(task: tuple[str, int, int]) -> list[Row]:
    """Evaluate one log; return a row for each policy and estimator."""
    model, users, seed = task
    log, people = simulated_log(model, users, seed)
    frozen = {
        name: FrozenPolicy(
            policy=policy,
            items=catalogue(),
            state=people,
            users=[str(user) for user in range(users)],
            rounds=[0] * users,
            seed=seed,
        )
        for name, policy in POLICIES.items()
    }
    found = fc.evaluate(log, frozen)
    return [row for policy in found.policies for row in _rows(policy, model, users)]


def _rows(policy: Any, model: str, users: int) -> Iterator[Row]:
    known = truth(policy.label)
    about = {
        "click_model": model,
        "users": users,
        "policy": policy.label,
        "verdict": policy.verdict.answer,
    }
    for one in policy.estimates:
        if not one.why_not:
            yield about | _against(one.name, one.value, one.low, one.high, known.clicks[model])
    for one in policy.equality:
        yield about | _against(one.metric, one.value, one.low, one.high, getattr(known, one.metric))


def _against(name: str, value: float, low: float, high: float, true: float) -> Row:
    return {
        "estimator": name,
        "truth": true,
        "value": value,
        "covered": low <= true <= high,
        "below": high < true,
        "half_width": (high - low) / 2,
    }


def grouped(rows: Sequence[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return dict(found)


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def coverage(rows: Sequence[Row]) -> list[Row]:
    keys = ("click_model", "users", "policy", "estimator", "verdict")
    return [
        dict(zip(keys, key, strict=True))
        | {
            "logs": len(some),
            "coverage": round(float(np.mean([row["covered"] for row in some])), 4),
            "truth_above": round(float(np.mean([row["below"] for row in some])), 4),
            "half_width": round(float(np.mean([row["half_width"] for row in some])), 5),
        }
        for key, some in grouped(rows, *keys).items()
    ]


def errors(rows: Sequence[Row]) -> list[Row]:
    keys = ("click_model", "users", "policy", "estimator")
    found = []
    for key, some in grouped(rows, *keys).items():
        values, true = np.array([row["value"] for row in some]), some[0]["truth"]
        found.append(
            dict(zip(keys, key, strict=True))
            | {
                "logs": len(some),
                "truth": round(true, 5),
                "bias": round(float(values.mean() - true), 5),
                "deviation": round(float(values.std(ddof=1)), 5),
                "rmse": round(float(np.sqrt(((values - true) ** 2).mean())), 5),
            }
        )
    return found


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw bias and standard deviation by log size, a panel for each click model and policy."""
    from matplotlib.figure import Figure

    models = sorted({row["click_model"] for row in rows})
    figure = Figure(figsize=(3.2 * len(POLICIES), 2.8 * len(models)), layout="constrained")
    panels = figure.subplots(len(models), len(POLICIES), squeeze=False)
    by_panel = grouped(rows, "click_model", "policy", "estimator")
    for (model, policy, estimator), some in by_panel.items():
        if estimator not in ESTIMATORS:
            continue
        ax = panels[models.index(model)][list(POLICIES).index(policy)]
        some = sorted(some, key=lambda row: row["users"])
        sizes = [row["users"] * VISITS for row in some]
        line = ax.plot(sizes, [row["rmse"] for row in some], marker="o", label=estimator)
        ax.plot(sizes, [abs(row["bias"]) for row in some], color=line[0].get_color(), ls=":")
        ax.set(xscale="log", yscale="log", title=f"{model}, {policy}", xlabel="impressions")
    panels[0][0].set_ylabel("root mean squared error\n(dotted: bias)")
    panels[0][0].legend(fontsize=6)
    figure.savefig(path, dpi=130)


def set_world(number: int) -> None:
    """Choose items and population, in this process."""
    global _world
    _world = number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000, help="of each kind")
    parser.add_argument("--users", type=int, nargs="+", default=[50, 200, 800])
    parser.add_argument("--models", nargs="+", default=["cascade", "pbm"])
    parser.add_argument("--world", type=int, default=0, help="which items and population")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/evaluation-coverage"))
    asked = parser.parse_args()
    begin = time.perf_counter()
    set_world(asked.world)
    kinds = [(model, users) for model in asked.models for users in asked.users]
    tasks = [(*kind, seed) for seed in range(asked.logs) for kind in kinds]
    if asked.workers > 1:
        with ProcessPoolExecutor(
            asked.workers, initializer=set_world, initargs=[asked.world]
        ) as pool:
            parts = list(pool.map(evaluated, tasks, chunksize=4))
    else:
        parts = [evaluated(task) for task in tasks]
    rows = [row for part in parts for row in part]
    asked.out.mkdir(parents=True, exist_ok=True)
    write_csv(asked.out / "coverage.csv", coverage(rows))
    write_csv(asked.out / "errors.csv", errors(rows))
    draw(errors(rows), asked.out / "errors.png")
    for (name,), some in grouped(
        [r for r in rows if r["verdict"] == "enough"], "estimator"
    ).items():
        share = np.mean([row["covered"] for row in some])
        print(f"{name:<12} covers {100 * share:5.1f}% of {len(some):,} where the verdict is enough")
    print(f"{len(tasks):,} logs in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
