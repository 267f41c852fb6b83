"""Which items a policy promotes over LinUCB, and whether users click them.

    python benchmarks/promoted_items.py --path ml-1m.zip --seeds 10

An item is promoted if it appears in more slates than under LinUCB. Random slates and epsilon-greedy
are the yardstick: they promote items without regard to whether users like them. Prints a Markdown
table of means with 95% intervals over seeds; each seed is another split of the data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from faircascade.data.load import load_dataset
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.experiment.stats import estimate
from faircascade.policies import EALinUCB, EpsilonGreedy, LinUCB, Policy, Random
from faircascade.types import Floats

RANDOM_SHARE = 10
"""Random slates do not change over time: a tenth of the rounds, times ten, gives their counts."""


def policies() -> Iterator[tuple[str, Policy]]:
    yield "EALinUCB log", EALinUCB(weight="log", reading="reference")
    yield "EALinUCB linear", EALinUCB(weight="linear", reading="reference")
    yield "epsilon-greedy, 0.1", EpsilonGreedy(epsilon=0.1, reading="reference")
    yield "random", Random()


def by_item(env: Environment, policy: Policy, rounds: int, seed: int) -> tuple[Floats, Floats]:
    """Return the appearances and the clicks of every item, (m,) each."""
    share = RANDOM_SHARE if isinstance(policy, Random) else 1
    last = max(1, rounds // share)
    record = simulate(env, policy, rounds=last, seed=seed, checkpoints=[last]).record
    scale = rounds / last
    return scale * record.appearances.sum(axis=1), scale * record.item_clicks.sum(axis=1)


def measure(env: Environment, rounds: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return for each policy: items promoted, share of these with more clicks, top tenth demoted.

    The shares are in percent. The top tenth are the items that LinUCB shows most.
    """
    shown, clicked = by_item(env, LinUCB(reading="reference"), rounds, seed)
    top = np.argsort(-shown, kind="stable")[: len(shown) // 10]
    found = {}
    for label, policy in policies():
        appearances, clicks = by_item(env, policy, rounds, seed)
        more = appearances > shown
        found[label] = (
            float(more.sum()),
            100 * float((clicks > clicked)[more].mean()),
            100 * float((appearances < shown)[top].mean()),
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--path", help="MovieLens 1M archive")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=50_000)
    parser.add_argument("--align", default="sign", choices=["none", "sign", "procrustes"])
    options = parser.parse_args()
    data = load_dataset("ml-1m", path=options.path)
    runs = []
    for seed in range(1, options.seeds + 1):
        env = Environment.from_ratings(
            data, dim=10, k=10, world="paper", seed=seed, align=options.align, zero_rows="keep"
        )
        runs.append(measure(env, options.rounds, seed))
        print(f"seed {seed}: {runs[-1]}", flush=True)
    print("| policy | items promoted | of these, more clicks | of the top tenth, shown less |")
    print("| --- | ---: | ---: | ---: |")
    for label in runs[0]:
        values = np.array([run[label] for run in runs]).T  # (3, seeds)
        count, gain, fall = (estimate(of) for of in values)
        print(
            f"| {label} | {count.mean:,.0f} [{count.low:,.0f}, {count.high:,.0f}] | "
            f"{gain.mean:.1f}% [{gain.low:.1f}, {gain.high:.1f}] | {fall.mean:.0f}% |"
        )


if __name__ == "__main__":
    main()
