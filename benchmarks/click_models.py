"""What click models and observations cost against a cascade, for each position that is learned.

    python benchmarks/click_models.py --data ml-1m --path ml-1m.zip [--engine gpu] [--policy linucb]

Users who go on after a click give more to learn from: a slate costs more, a position should not.
Each run is timed next to one of the cascade, in turns, and their ratio counts: the median over all
repeats, with an interval that holds it with 95% (order statistics). So a machine that gets slower
or faster meanwhile changes little. The cascade against itself is measured as well, which shows how
much is chance. Seconds are those of the processor, or of the clock on a GPU. Positions that were
learned are counted in a trace of the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.stats import binom

import faircascade as fc
from faircascade.environment import Environment
from faircascade.observations import Observation
from faircascade.policies import Policy
from faircascade.registry import as_component, build
from faircascade.types import Floats

MODELS = ("cascade", "dcm", "dbn", "ccm", "pbm", "ubm")
OBSERVATIONS = ("first-click", "last-click", "all", "examination")
BASELINE = ("cascade", "first-click")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="synthetic")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--policy", default="linucb")
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    given = {} if options.path is None else {"path": options.path}
    env = fc.Environment.from_ratings(
        fc.load_dataset(options.data, **given), users=options.users, world="paper"
    )
    slates = options.users * options.rounds

    def nanoseconds(model: str, name: str) -> float:
        """Time one run, for each slate."""
        clock = time.process_time if options.engine == "cpu" else time.perf_counter
        users, policy = case(env, model, options.policy, name)
        begin = clock()
        fc.simulate(users, policy, rounds=options.rounds, engine=options.engine, checkpoints=1)
        return 1e9 * (clock() - begin) / slates

    cases = [(model, name) for model in MODELS for name in OBSERVATIONS]
    for each in cases:
        nanoseconds(*each)  # compiled by now
    learned = {
        (model, name): positions_learned(*case(env, model, options.policy, name), options.rounds)
        for model, name in cases
    }
    for each in cases:
        pairs = np.array(
            [(nanoseconds(*each), nanoseconds(*BASELINE)) for _ in range(options.repeat)]
        )
        ratios = pairs[:, 0] / pairs[:, 1] * (learned[BASELINE] / learned[each])
        low, high = median_interval(ratios)
        print(
            f"{each[0]:8} {each[1]:12} {np.median(pairs[:, 0]):7.0f} ns a slate, "
            f"{learned[each]:5.2f} positions learned, "
            f"{np.median(ratios) - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}]",
            flush=True,
        )


def median_interval(values: Floats) -> tuple[float, float]:
    """Return two of the values that hold the median between them with 95% or more."""
    ordered = np.sort(values)
    outside = int(binom.ppf(0.025, len(ordered), 0.5))
    return float(ordered[max(outside - 1, 0)]), float(ordered[-max(outside, 1)])


def case(env: Environment, model: str, policy: str, name: str) -> tuple[Environment, Policy]:
    """Return users who click by a model, and a policy with an observation."""
    observation = as_component(Observation.kind, name)
    users = replace(env, click_model=as_component("click_model", model))
    return users, build("policy", policy, {"observation": observation})


def positions_learned(env: Environment, policy: Policy, rounds: int) -> float:
    """Return how many positions of a slate are learned from, on average."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.parquet"
        result = fc.simulate(env, policy, rounds=rounds, engine="cpu", trace=path)
        seen = pq.read_table(path, columns=["seen"])["seen"].to_numpy()
    return int((seen > 0).sum()) / result.recommendations


if __name__ == "__main__":
    main()
