"""How often does an experiment of the service raise a false alarm, from its notes to its verdict?

`experiments_peeking.py` is about the statistics. This one goes the way that counts go in a service,
see `tests/service/simulated_experiment.py`; for some, the service is started anew before each look,
so that all it knows comes from the store; and for some, the arms differ.

    python -m benchmarks.experiments_service --out docs/reproduction/experiments
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scipy import stats
from tests.service.simulated_experiment import LOOKS, MEASURES, SLATES, Outcome, experiment


async def outcomes(count: int, **options: Any) -> list[Outcome]:
    """Return what so many experiments came to."""
    return [await experiment(seed, **options) for seed in range(count)]


def rows_of(found: list[Outcome], options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the share of experiments with an alarm, by measure, with 95% intervals."""
    for measure in MEASURES:
        alarms = sum(one.alarms[measure] for one in found)
        low, high = stats.binomtest(alarms, len(found)).proportion_ci(0.95, "exact")
        yield {
            "lift": float(options.get("lift", 0)),
            "restarts": int(options.get("restarts", False)),
            "measure": measure,
            "experiments": len(found),
            "looks": LOOKS,
            "ready": sum(one.ready[measure] for one in found) / len(found),
            "alarms": alarms / len(found),
            "low": low,
            "high": high,
            "mismatches": sum(one.mismatch for one in found) / len(found),
        }


def main() -> None:
    """Run the experiments and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    rows = []
    few = given.experiments // 10
    scenarios: tuple[tuple[int, dict[str, Any]], ...] = (
        (given.experiments, {}),
        (few, {"restarts": True}),
        (few, {"lift": 0.4, "slates": 3 * SLATES, "users": 2_000, "even": True}),
    )
    for count, options in scenarios:
        begin = time.perf_counter()
        found = asyncio.run(outcomes(count, **options))
        for row in rows_of(found, options):
            print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})
            rows.append({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()})
        print(f"{count} experiments in {time.perf_counter() - begin:.0f} s")
    if given.out is not None:
        with (given.out / "service.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
