"""Drive the service with simulated users, and see that it learns as `simulate` does.

    python examples/service_learns.py                      # starts a service of its own
    python examples/service_learns.py --rounds 200 --users 100

The same users, with the same luck, are served twice: over HTTP by the service, and by the
simulator. Slates and clicks come out the same.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import faircascade as fc
from faircascade.client import Feedback, RecommendationRequest

SEED = 1


def write_items(env: fc.Environment, path: Path) -> None:
    """Write the items that can be recommended as a file for the service."""
    rows = np.flatnonzero(env.items.eligible)
    table = {
        "item_id": env.items.ids[rows].astype(str),
        "features": list(env.items.features[rows]),
        "merit": env.items.merit[rows],
    }
    pq.write_table(pa.table(table), path)


@contextmanager
def service(folder: Path, *options: str) -> Iterator[str]:
    """Start `faircascade serve` and yield its address."""
    command = [sys.executable, "-m", "faircascade", "serve", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                found = re.search(r"http://\S+?:\d+", line)
                if found:
                    yield found.group()
                    break
            else:
                raise SystemExit("the service did not start")
        finally:
            process.terminate()
            process.stderr.read()


def drive(env: fc.Environment, url: str, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Serve every user once per round; return slates (rounds, n, K) and clicks (rounds, n)."""
    row = {str(item): place for place, item in enumerate(env.items.ids)}
    users = [str(user) for user in env.users.ids]
    slates, clicks = [], []
    with fc.Client(url) as client:
        for turn in range(1, rounds + 1):
            shown = client.recommend_many(RecommendationRequest(user, k=env.k) for user in users)
            listed = np.array([[row[item] for item in one.items] for one in shown])
            response = env.respond(listed, round=turn, seed=SEED)
            answers = [
                Feedback(one, clicked=np.flatnonzero(hits) + 1)
                for one, hits in zip(shown, response.clicks, strict=True)
            ]
            client.feedback_many(answers)
            slates.append(listed)
            clicks.append(response.clicks.any(axis=1))
    return np.array(slates), np.array(clicks)


def main() -> None:
    """Compare the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()

    data = fc.load_dataset("synthetic", users=args.users, items=150)
    env = fc.Environment.from_ratings(data, dim=5, k=5, users=args.users)
    policy = fc.EALinUCB(weight="log", gamma=0.005)
    with TemporaryDirectory() as folder:
        write_items(env, Path(folder) / "items.parquet")
        options = ["--items", "items.parquet", "--weight", "log", "--gamma", "0.005"]
        options += ["--seed", str(SEED), "--store", "sqlite:store.db"]
        with service(Path(folder), *options) as url:
            slates, clicks = drive(env, url, args.rounds)

    result = fc.simulate(env, policy, rounds=args.rounds, seed=SEED, engine="loop")
    simulated = result.tally.clicks  # (rounds,)
    print(f"{'rounds':>12} {'service':>9} {'simulate':>9}   clicks per slate")
    for block in np.array_split(np.arange(args.rounds), min(5, args.rounds)):
        label = f"{block[0] + 1}-{block[-1] + 1}"
        theirs = simulated[block].sum() / (len(block) * len(env.users))
        print(f"{label:>12} {clicks[block].mean():9.4f} {theirs:9.4f}")
    appearances = np.zeros((len(env.items), env.k), dtype=np.int64)
    np.add.at(appearances, (slates, np.arange(env.k)), 1)
    same = np.array_equal(appearances, result.record.appearances)
    print(f"every item stood as often at every position: {'yes' if same else 'no'}")


if __name__ == "__main__":
    main()
