"""What new users gain if they begin with what users with the same labels have taught.

    python benchmarks/cold_start.py --seeds 10

Users have a country and a device. In the world `labels` taste depends on both, more on the country;
in `common` all users have much taste in common, and labels are drawn at random; in `nothing` tastes
are independent of each other and of labels. Some users have taught their cohorts, then others come.
Prints a Markdown table: expected clicks per slate of the new users in their first rounds without a
cold start, and what it adds for cohorts that count as some slates at most, with 95% intervals over
seeds. `--weights` compares how that weight may fade with the slates of the user.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np

from faircascade.environment import Environment
from faircascade.experiment.stats import estimate
from faircascade.policies import EALinUCB, LinUCB, Policy
from faircascade.service.cold_start import prior
from faircascade.types import Feedback, Floats, Ints, Users

WORLDS = {"labels": (1.0, 0.0), "common": (0.0, 1.0), "nothing": (0.0, 0.0)}
"""How much tastes owe to labels, and to what all users have in common; own taste counts as 0.5, in
`nothing` alone."""
LABELS = {"country": (8, 1.0), "device": (3, 0.5)}
"""Values of each label, and how much taste owes to it where it owes something to labels."""
ITEMS, DIRECTIONS, K = 300, 8, 5
EARLY = 10
"""The first rounds, over which clicks are averaged."""
TAUGHT = 30
"""Slates that each user had who was there before."""

Weight = Callable[[int], float]
"""As how many slates a cohort counts, by the slates n that the user has had."""
WEIGHTS: Mapping[str, Callable[[int], Weight]] = {  # the service has the first
    "n0": lambda slates: lambda _: float(slates),
    "n0^2 / (n0 + n)": lambda slates: lambda own: slates**2 / (slates + own),
    "max(0, n0 - n)": lambda slates: lambda own: float(max(0, slates - own)),
}


def directions(rng: np.random.Generator, count: int) -> Floats:
    """Return unit vectors, (count, DIRECTIONS)."""
    drawn = rng.normal(size=(count, DIRECTIONS))
    return drawn / np.linalg.norm(drawn, axis=1)[:, None]


def new_world(name: str, users: int, seed: int) -> tuple[Environment, Ints]:
    """Return an environment, and the cohorts of its users, (n, labels)."""
    rng = np.random.default_rng(seed)
    by_label, common = WORLDS[name]
    taste = 0.5 * directions(rng, users) + common * directions(rng, 1)
    cohorts, first = [], 0
    for values, share in LABELS.values():
        drawn = rng.integers(values, size=users)
        taste += by_label * share * directions(rng, values)[drawn]
        cohorts.append(first + drawn)
        first += values
    taste /= np.linalg.norm(taste, axis=1)[:, None]
    features = np.c_[np.full(ITEMS, 0.6), 0.8 * directions(rng, ITEMS)]
    preferences = np.c_[np.full(users, 0.05 / 0.6), taste * 0.15 / 0.8]
    env = Environment.from_arrays(features, preferences, k=K, user_ids=np.arange(users))
    return env, np.stack(cohorts, axis=1)


class Traffic:
    """Users who come once a round, and what they and their cohorts have taught."""

    def __init__(self, policy: Policy, env: Environment, cohorts: Ints, seed: int) -> None:
        self.policy, self.env, self.cohorts, self.seed = policy, env, cohorts, seed
        self.users = Users(ids=env.users.ids)
        self.dim = policy.dim_of(env.items)
        blank = policy.start(self.users, self.dim)
        self.sums = np.zeros_like(policy.sums(blank))  # (n, s)
        self.taught = np.zeros((sum(n for n, _ in LABELS.values()), self.sums.shape[1]))
        self.slates = np.zeros(len(self.taught), dtype=np.int64)

    def step(self, round: int, weight: Weight | None) -> Floats:
        """Serve everybody a slate and learn; return the expected clicks of each, (n,)."""
        known = self.sums if weight is None else self.sums + self._priors(weight(round - 1))
        state = self.policy.from_sums(self.users, known, self.dim)
        everybody, pool = slice(None), self.env.pool_at(1)
        slates = self.policy.recommend(state, everybody, pool, K, round=round, seed=self.seed).items
        response = self.env.respond(slates, round=round, seed=self.seed)
        gained = self.policy.increments(
            Feedback(
                items=self.env.items.ids[slates],
                features=self.env.items.features[slates],
                clicks=response.clicks,
                shown=np.full(len(slates), K),
                topics=np.empty((*slates.shape, 0)),
            )
        )
        self.sums += gained
        for column in self.cohorts.T:
            np.add.at(self.taught, column, gained)
            np.add.at(self.slates, column, 1)
        return response.value

    def _priors(self, weight: float) -> Floats:
        if weight <= 0:
            return np.zeros_like(self.sums)
        known = list(zip(self.slates.tolist(), self.taught, strict=True))
        kinds, kind = np.unique(self.cohorts, axis=0, return_inverse=True)
        priors = [prior([known[n] for n in row], weight) for row in kinds.tolist()]
        return np.stack(priors)[kind.ravel()]


def measure(
    policy: Policy,
    name: str,
    users: int,
    rounds: int,
    seed: int,
    ways: Mapping[str, Weight | None],
) -> dict[str, tuple[float, float]]:
    """Return expected clicks per slate in the early rounds and in all of them, for each way."""
    env, cohorts = new_world(name, 2 * users, seed)
    before = Traffic(policy, env.take(slice(0, users)), cohorts[:users], seed)
    for round in range(1, TAUGHT + 1):
        before.step(round, None)
    found = {}
    for label, weight in ways.items():
        new = Traffic(policy, env.take(slice(users, None)), cohorts[users:], seed)
        new.taught += before.taught
        new.slates += before.slates
        values = [float(new.step(n, weight).mean()) for n in range(1, rounds + 1)]
        found[label] = float(np.mean(values[:EARLY])), float(np.mean(values))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--users", type=int, default=200, help="there before, and new ones")
    parser.add_argument("--rounds", type=int, default=50, help="slates of each new user")
    parser.add_argument("--slates", type=int, nargs="+", default=[2, 5, 10, 20, 50])
    parser.add_argument("--weights", action="store_true", help="compare ways to fade")
    parser.add_argument("--policy", choices=["ealinucb", "linucb"], default="ealinucb")
    options = parser.parse_args()
    policy = LinUCB() if options.policy == "linucb" else EALinUCB(weight="log")
    kinds = WEIGHTS if options.weights else {"n0": WEIGHTS["n0"]}
    ways: dict[str, Weight | None] = {"off": None}
    for kind, make in kinds.items():
        for slates in options.slates:
            ways[f"{slates}, {kind}" if options.weights else f"{slates}"] = make(slates)
    began = time.perf_counter()
    print(f"| world | cold start | first {EARLY} rounds | first {options.rounds} rounds |")
    print("| --- | --- | ---: | ---: |")
    for name in WORLDS:
        runs = [
            measure(policy, name, options.users, options.rounds, seed, ways)
            for seed in range(1, options.seeds + 1)
        ]
        off = np.array([run["off"] for run in runs])  # (seeds, 2)
        early, late = (estimate(values) for values in off.T)
        print(f"| {name} | off | {early.mean:.3f} | {late.mean:.3f} |")
        for label in list(ways)[1:]:
            more = 100 * (np.array([run[label] for run in runs]) / off - 1)
            early, late = (estimate(values) for values in more.T)
            print(
                f"| {name} | {label} | {early.mean:+.1f}% [{early.low:+.1f}, {early.high:+.1f}] | "
                f"{late.mean:+.1f}% [{late.low:+.1f}, {late.high:+.1f}] |",
                flush=True,
            )
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
