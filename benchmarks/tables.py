"""Slates a second of bandits without features in the cpu engine.

10 items and K = 5, 16 and 4, 1,000 and 10; `toprank` takes no more than 256 items.

    python benchmarks/tables.py [--rounds 20000] [--policy cascade-ucb1 ...]

Attraction is 0.2 for the best K items and 0.05 for the others, as in Kveton et al. (2015), or
uniform in [0, 0.3]. Seconds of the processor are printed as well: they hardly depend on what else a
machine does.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import faircascade as fc
from faircascade.estimators.toprank import MOST_ITEMS

POLICIES = ("cascade-ucb1", "cascade-kl-ucb", "ts-cascade", "cascade-ts", "toprank")
SIZES = ((10, 5, 500), (16, 4, 500), (1000, 10, 64))


def attractions(items: int, k: int, users: int) -> dict[str, np.ndarray]:
    """Return the tables to measure by name."""
    two = np.full((users, items), 0.05)
    two[:, :k] = 0.2
    return {
        "two levels": two,
        "uniform": np.random.default_rng(0).uniform(0, 0.3, size=(users, items)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--policy", nargs="*", default=POLICIES)
    options = parser.parse_args()
    for items, k, users in SIZES:
        for name, table in attractions(items, k, users).items():
            env = fc.Environment.from_attraction(table, k=k)
            for policy in options.policy:
                if policy == "toprank" and items > MOST_ITEMS:
                    continue
                fc.simulate(env, policy, rounds=10, engine="cpu")  # compiled before the clock runs
                slates, begin = users * options.rounds, time.process_time()
                result = fc.simulate(env, policy, rounds=options.rounds, engine="cpu")
                spent = time.process_time() - begin
                print(
                    f"{items:5} items, K = {k:2}, {name:10} {policy:15}"
                    f"{slates / result.seconds / 1e6:7.2f} M slates/s, "
                    f"{1e9 * spent / slates:6.0f} ns of a core each",
                    flush=True,
                )


if __name__ == "__main__":
    main()
