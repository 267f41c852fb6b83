"""What click models and observations cost against a cascade, for each position that is learned.

    python benchmarks/click_models.py --data ml-1m --path ml-1m.zip [--engine gpu] [--policy linucb]

Users who go on after a click give more to learn from: a slate costs more, a position should not.
All runs alternate, and the best of several counts; seconds are those of the processor, or of the
clock on a GPU. Positions that were learned are counted in a trace of the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import faircascade as fc
from faircascade.environment import Environment
from faircascade.observations import Observation
from faircascade.policies import Policy
from faircascade.registry import as_component, build

MODELS = ("cascade", "dcm", "dbn", "ccm", "pbm", "ubm")
OBSERVATIONS = ("first-click", "last-click", "all", "examination")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="synthetic")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--policy", default="linucb")
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    given = {} if options.path is None else {"path": options.path}
    env = fc.Environment.from_ratings(
        fc.load_dataset(options.data, **given), users=options.users, world="paper"
    )
    cases = [(model, name) for model in MODELS for name in OBSERVATIONS]
    best = dict.fromkeys(cases, np.inf)
    clock = time.process_time if options.engine == "cpu" else time.perf_counter
    for _ in range(options.repeat):
        for model, name in cases:
            users, policy = case(env, model, options.policy, name)
            fc.simulate(users, policy, rounds=2, engine=options.engine)  # compiled by now
            begin = clock()
            fc.simulate(users, policy, rounds=options.rounds, engine=options.engine, checkpoints=1)
            best[model, name] = min(best[model, name], clock() - begin)
    slates = options.users * options.rounds
    first = None
    for model, name in cases:
        users, policy = case(env, model, options.policy, name)
        learned = positions_learned(users, policy, options.rounds)
        each = 1e9 * best[model, name] / (slates * learned)
        first = first or each
        print(
            f"{model:8} {name:12} {1e9 * best[model, name] / slates:7.0f} ns a slate, "
            f"{learned:5.2f} positions learned, {each:6.0f} ns each, {each / first - 1:+.0%}",
            flush=True,
        )


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
