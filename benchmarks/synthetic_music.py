"""Compare policies on the generated `synthetic-music` with what was published on Yahoo! Music.

    python benchmarks/synthetic_music.py --users 300 --rounds 2000

Prints one Markdown table: for each d and K the published row, the optimal slates of all 1,000
users, and LinUCB and EALinUCB log in the reading `reference`. The published rows are for 1,000
users and 50,000 rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import get_args

from synthetic_vs_movielens import table

from faircascade.data.factors import Align
from faircascade.data.load import load_dataset
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.policies import EALinUCB, LinUCB, Optimal, Policy

MEASURES = ("clicks", "equality_b", "equality_p", "equity_b", "equity_p")
PUBLISHED = {
    (10, 5, "LinUCB"): (0.1802, 0.3602, 0.3316, 0.3559, 0.3278),
    (10, 5, "EALinUCB log"): (0.1772, 0.3662, 0.5396, 0.3599, 0.3641),
    (10, 10, "LinUCB"): (0.3154, 0.4469, 0.4040, 0.4429, 0.4002),
    (10, 10, "EALinUCB log"): (0.3073, 0.4950, 0.5174, 0.4850, 0.4730),
    (20, 5, "LinUCB"): (0.1956, 0.5343, 0.5112, 0.5216, 0.4981),
    (20, 5, "EALinUCB log"): (0.1915, 0.5380, 0.5376, 0.5344, 0.5386),
    (20, 10, "LinUCB"): (0.3374, 0.6092, 0.5761, 0.6009, 0.5661),
    (20, 10, "EALinUCB log"): (0.3293, 0.6235, 0.6254, 0.6073, 0.6087),
}
"""By d, K and policy, on the licensed data; the Equality_P of EALinUCB rows contradict others."""


def policies() -> Iterator[tuple[str, Policy]]:
    yield "LinUCB", LinUCB(reading="reference")
    yield "EALinUCB log", EALinUCB(weight="log", reading="reference")


def measured(env: Environment, policy: Policy, rounds: int, seed: int) -> Sequence[float]:
    result = simulate(env, policy, rounds=rounds, seed=seed, threads=1, checkpoints=1)
    return [float(getattr(result, measure)) for measure in MEASURES]


def row(d: int, k: int, label: str, values: Sequence[float]) -> list[str]:
    return [str(d), str(k), label, *[f"{value:.3f}" for value in values]]


def main() -> None:
    """Simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=300, help="users that are served")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of environment, split and run")
    parser.add_argument("--align", choices=get_args(Align), default="none")
    parser.add_argument("--zero-rows", choices=("keep", "exclude"), default="keep")
    given = parser.parse_args()
    ratings = load_dataset("synthetic-music", seed=given.seed)
    rows = []
    for d, k in ((10, 5), (10, 10), (20, 5), (20, 10)):
        env = Environment.from_ratings(
            ratings,
            dim=d,
            k=k,
            world="paper",
            seed=given.seed,
            align=given.align,
            zero_rows=given.zero_rows,
        )
        best = [float(env.optimum(1).values.mean()), *measured(env, Optimal(), 1, given.seed)[1:]]
        rows.append(row(d, k, "optimal slates, all users", best))
        some = env.take(slice(0, given.users))
        for label, policy in policies():
            rows.append(row(d, k, f"{label}, published", PUBLISHED[d, k, label]))
            rows.append(row(d, k, label, measured(some, policy, given.rounds, given.seed)))
    head = ["d", "K", "", "clicks", "Equality_B", "Equality_P", "Equity_B", "Equity_P"]
    print(table(head, rows, names=3))


if __name__ == "__main__":
    main()
