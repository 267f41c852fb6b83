"""Recommendations a second of the loop engine, by policy and number of threads.

python benchmarks/loop_engine.py --users 256 --items 2800 --rounds 300
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import faircascade as fc
from faircascade.engine.simulation import cores


def world(users: int, items: int, dim: int, k: int) -> fc.Environment:
    """Random low-rank users and items: speed does not depend on what they like."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(items, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(2)
    theta = np.abs(rng.normal(size=(users, dim))) * 0.05
    return fc.Environment.from_arrays(X, theta, k=k)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("users", 256), ("items", 2800), ("dim", 10), ("k", 10), ("rounds", 300)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    env = world(chosen.users, chosen.items, chosen.dim, chosen.k)
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
            result = fc.simulate(env, policy, rounds=chosen.rounds, seed=1, threads=n)
            speeds.append(result.recommendations / (time.perf_counter() - begin))
        print(f"| {policy.label} | " + " | ".join(f"{speed:,.0f}" for speed in speeds) + " |")


if __name__ == "__main__":
    main()
