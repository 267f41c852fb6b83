"""Slates a second of the fair re-rankers in the compiled engine, with an account of all users.

    python benchmarks/fair_rankers.py [--users 6000] [--items 2800] [--rounds 20]

Where others load the machine, slates per CPU second and core are what can be compared.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import faircascade as fc
from faircascade.rerankers import (
    PMMF,
    ExposureCharge,
    FairCo,
    FrankWolfe,
    Identity,
    MinShare,
    Reranker,
)
from faircascade.testing import small_environment

RERANKERS: list[Reranker] = [
    Identity(),
    ExposureCharge(),
    ExposureCharge(ledger="global"),
    FairCo(),
    FairCo(by="supplier", half_life=100.0),
    PMMF(by="supplier"),
    FrankWolfe(),
    FrankWolfe(welfare="gini"),
    MinShare(share=0.2),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in (("users", 6000), ("items", 2800), ("rounds", 20), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    env = small_environment(users=asked.users, items=asked.items, dim=10, k=10)
    suppliers = np.array([f"s{item % 200}" for item in range(asked.items)])
    env = replace(env, items=replace(env.items, groups={"supplier": suppliers}))
    print(f"{asked.users:,} users, {asked.items:,} items, d = K = 10, {asked.threads} threads")
    for reranker in RERANKERS:
        policy = fc.LinUCB(reranker=reranker)
        run = {"seed": 1, "engine": "cpu", "threads": asked.threads}
        fc.simulate(env.take(slice(0, 16)), policy, rounds=2, **run)  # compiles
        begin = time.perf_counter(), time.process_time()
        fc.simulate(env, policy, rounds=asked.rounds, **run)
        wall, busy = time.perf_counter() - begin[0], time.process_time() - begin[1]
        slates = asked.users * asked.rounds
        print(
            f"{reranker!r}: {slates / wall:,.0f} slates per second, "
            f"{slates / busy:,.0f} per CPU second of a core",
            flush=True,
        )


if __name__ == "__main__":
    main()
