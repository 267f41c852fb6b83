"""Do the intervals of `fc.evaluate` cover the truth?

Logs of users drawn from a population in which everything is known are evaluated for three policies
(near the logging policy, far from it, random slates); intervals are compared with the truth of the
population. Writes `coverage.csv`: the share of intervals that have the truth in them, by click
model, users, policy, estimator and verdict.

    python benchmarks/evaluation_coverage.py --logs 1000 --out runs/evaluation-coverage
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evaluation_population import (
    Greedy,
    Row,
    all_rows,
    frozen,
    grouped,
    simulated_log,
    truth,
    write_csv,
)

import faircascade as fc
from faircascade.policies import Policy, Random

POLICIES: dict[str, Policy] = {
    "near": Greedy(epsilon=0.3, agreement=0.8),
    "far": Greedy(epsilon=0.0, agreement=0.0),
    "random": Random(),
}


def evaluated(task: tuple[str, int, int, tuple[str, ...]]) -> list[Row]:
    """Evaluate one log; return a row for each policy and estimator."""
    model, users, seed, names = task
    log, people = simulated_log(model, users, seed)
    found = fc.evaluate(log, frozen({name: POLICIES[name] for name in names}, people, seed))
    return [row for policy in found.policies for row in _rows(policy, model, users)]


def _rows(policy: Any, model: str, users: int) -> Iterator[Row]:
    known = truth(POLICIES[policy.label])
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000, help="of each kind")
    parser.add_argument("--users", type=int, nargs="+", default=[50, 200, 800])
    parser.add_argument("--models", nargs="+", default=["cascade", "pbm"])
    parser.add_argument("--policies", nargs="+", default=[*POLICIES], choices=[*POLICIES])
    parser.add_argument("--world", type=int, default=0, help="which items and population")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/evaluation-coverage"))
    asked = parser.parse_args()
    begin = time.perf_counter()
    kinds = [(model, users) for model in asked.models for users in asked.users]
    names = tuple(asked.policies)
    tasks = [(*kind, seed, names) for seed in range(asked.logs) for kind in kinds]
    rows = all_rows(evaluated, tasks, asked.world, asked.workers)
    asked.out.mkdir(parents=True, exist_ok=True)
    write_csv(asked.out / "coverage.csv", coverage(rows))
    for (name,), some in grouped(
        [r for r in rows if r["verdict"] == "enough"], "estimator"
    ).items():
        share = np.mean([row["covered"] for row in some])
        print(f"{name:<12} covers {100 * share:5.1f}% of {len(some):,} where the verdict is enough")
    print(f"{len(tasks):,} logs in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
