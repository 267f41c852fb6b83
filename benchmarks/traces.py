"""Slates per second with a trace, with and without propensities, by policy.

    python benchmarks/traces.py --rounds 40

Prints a Markdown table. One thread, processor time (other work on the machine hardly counts), best
of several runs taken in turns, 1,000 users of the embedded data, d = K = 10.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import faircascade as fc

POLICIES = {
    "epsilon-greedy": fc.EpsilonGreedy(),
    "EARS": fc.EARSLinUCB(),
    "merit-draws": fc.FRMLinUCB(variant="merit-draws"),
    "random": fc.Random(),
    "Thompson sampling": fc.LinTS(),
}
WAYS = {
    "`loop`, `--no-propensities`": {"engine": "loop", "propensities": False},
    "`loop`, with propensities": {"engine": "loop"},
    "`cpu`, `--no-propensities`": {"engine": "cpu", "propensities": False},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    env = fc.Environment.from_ratings(fc.load_dataset("synthetic"), dim=10, k=10, users=1000)
    fc.simulate(env, fc.Optimal(), rounds=1)  # works the optimal slates out
    best: defaultdict[tuple[str, str], float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:

        def measure(name: str, way: str, rounds: int, **options: object) -> None:
            begin = time.process_time()
            result = fc.simulate(
                env,
                POLICIES[name],
                rounds=rounds,
                seed=1,
                threads=1,
                trace=Path(folder) / "trace.parquet",
                **options,
            )
            speed = result.recommendations / (time.process_time() - begin)
            best[name, way] = max(best[name, way], speed)

        redrawn = f"`loop`, `--propensity-draws {chosen.draws}`"
        for _ in range(chosen.repeats):
            for name in POLICIES:
                for way, options in WAYS.items():
                    measure(name, way, chosen.rounds, **options)
            drawn = {"engine": "loop", "propensity_draws": chosen.draws}
            measure("Thompson sampling", redrawn, 2, **drawn)

    print("| policy | " + " | ".join(WAYS) + " |")
    print("| --- |" + " ---: |" * len(WAYS))
    for name in POLICIES:
        print(f"| {name} | " + " | ".join(f"{best[name, way]:,.0f}" for way in WAYS) + " |")
    print(f"\nThompson sampling, {redrawn}: {best['Thompson sampling', redrawn]:,.0f}")


if __name__ == "__main__":
    main()
