"""What each option of an environment does to its users, as a table for docs/explanation/worlds.md.

    python benchmarks/worlds.py --data ratings.tsv --seeds 3

For each option: how much popularity has to do with attraction, what popularity alone earns, how
concentrated the optimal slates are, and how well attraction agrees with likes that were held out.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from faircascade.data.base import Ratings
from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.environment.agreement import agreement

VARIANTS: dict[str, dict[str, Any]] = {
    "`popular`": {},
    "`popularity_power=0.5`": {"popularity_power": 0.5},
    "`popularity_power=0`": {"popularity_power": 0.0},
    '`preferences="svd"`': {"preferences": "svd"},
    '`preferences="svd", align="procrustes"`': {"preferences": "svd", "align": "procrustes"},
    "`click_rate=0.1`": {"click_rate": 0.1},
    "`click_rate=0.9`": {"click_rate": 0.9},
    '`zero_rows="keep"`': {"zero_rows": "keep"},
    '`threshold="q0.2"`': {"threshold": "q0.2"},
    '`threshold="q0.9"`': {"threshold": "q0.9"},
    '`sampling="random"`': {"sampling": "random"},
    "`train_share=0.25`": {"train_share": 0.25},
    "`train_share=0.75`": {"train_share": 0.75},
    "`paper`": {"world": "paper"},
    '`paper`, `align="procrustes"`': {"world": "paper", "align": "procrustes"},
}
HEADS = (
    *("option", "correlation", "popularity alone", "head", "Equality", "without features"),
    *("AUC", "precision"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    ratings = load_dataset(options.data)
    print(f"| {' | '.join(HEADS)} |")
    print("| --- |" + " ---: |" * (len(HEADS) - 1))
    for name, given in VARIANTS.items():
        rows = [measured(ratings, seed, given) for seed in range(1, options.seeds + 1)]
        c, popular, head, equality, empty, auc, precision = np.mean(rows, axis=0)
        cells = f"{c:.2f} | {popular:.0%} | {head:.0%} | {equality:.3f} | {empty:.0%}"
        print(f"| {name} | {cells} | {auc:.3f} | {precision:.3f} |", flush=True)


def measured(ratings: Ratings, seed: int, given: dict[str, Any]) -> tuple[float, ...]:
    env = Environment.from_ratings(ratings, seed=seed, **given)
    facts, found = env.facts, agreement(ratings, seed=seed, **given)
    return (
        facts.popularity_correlation,
        facts.popular_share,
        facts.optimal_head_share,
        facts.optimal_equality,
        float((~env.items.features.any(axis=1)).mean()),
        found.auc.mean,
        found.precision.mean,
    )


if __name__ == "__main__":
    main()
