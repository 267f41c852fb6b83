"""Recommendations per second of the loop engine, by policy and number of threads.

python benchmarks/loop_engine.py --users 256 --items 2800 --rounds 300
"""

from __future__ import annotations

import argparse
import time

import faircascade as fc
from faircascade.cores import cores
from faircascade.experiment.bench.environments import low_rank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("users", 256), ("items", 2800), ("dim", 10), ("k", 10), ("rounds", 300)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    env = low_rank(users=chosen.users, items=chosen.items, dim=chosen.dim, k=chosen.k)
    policies = [
        fc.LinUCB(),
        fc.EALinUCB(weight="log", gamma=0.005),
        fc.LinTS(),
        fc.EpsilonGreedy(),
        fc.Random(),
        fc.Optimal(),
    ]
    threads = sorted({1, cores()})
    print("| policy | " + " | ".join(f"{n} thread{'s' * (n > 1)}" for n in threads) + " |")
    print("| --- |" + " ---: |" * len(threads))
    for policy in policies:
        speeds = []
        for n in threads:
            begin = time.perf_counter()
            result = fc.simulate(
                env, policy, rounds=chosen.rounds, seed=1, engine="loop", threads=n
            )
            speeds.append(result.recommendations / (time.perf_counter() - begin))
        print(f"| {policy.label} | " + " | ".join(f"{speed:,.0f}" for speed in speeds) + " |")


if __name__ == "__main__":
    main()
