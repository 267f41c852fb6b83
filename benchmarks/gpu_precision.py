"""How far float32 is from float64 on a GPU, against how far one seed is from the next.

    python benchmarks/gpu_precision.py                       # synthetic data
    python benchmarks/gpu_precision.py --path ml-1m.zip      # MovieLens 1M

Ten seeds, each with its own split, LinUCB and EALinUCB log over 50,000 rounds. Prints one JSON line
for each policy and metric: the mean of both, the mean difference with its 95% interval, and the
standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy import stats

import faircascade as fc
from faircascade.engine import HEADLINE, Wanted, simulate_together

POLICIES = (fc.LinUCB(reading="reference"), fc.EALinUCB(weight="log", reading="reference"))


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", type=Path, help="archive of MovieLens 1M")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=50_000)
    args = parser.parse_args()
    name = "synthetic" if args.path is None else "ml-1m"
    ratings = fc.load_dataset(name, path=args.path)
    envs = [
        fc.Environment.from_ratings(
            ratings, seed=seed, world="paper", align="none", zero_rows="keep"
        )
        for seed in range(args.seeds)
    ]
    wanted = [Wanted(env, policy, s) for policy in POLICIES for s, env in enumerate(envs)]
    exact, fast = (
        simulate_together(wanted, rounds=args.rounds, precision=precision)
        for precision in ("float64", "float32")
    )
    for place, policy in enumerate(POLICIES):
        mine = slice(place * args.seeds, (place + 1) * args.seeds)
        for metric in HEADLINE:
            one = np.array([result.metrics[metric] for result in exact[mine]])
            other = np.array([result.metrics[metric] for result in fast[mine]])
            change = other - one
            half = stats.t.ppf(0.975, len(change) - 1) * stats.sem(change)
            line = {
                "policy": policy.label,
                "metric": metric,
                "float64": round(float(one.mean()), 5),
                "float32": round(float(other.mean()), 5),
                "difference": round(float(change.mean()), 6),
                "interval": [round(float(change.mean() + h), 6) for h in (-half, half)],
                "sd_over_seeds": round(float(one.std(ddof=1)), 5),
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
