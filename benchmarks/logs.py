"""How fast click logs are read, audited, learned from and fitted, and in how much memory.

    python benchmarks/logs.py --rows 100_000_000
    python benchmarks/logs.py --rows 100_000_000 --part audit

Makes a Parquet log, one row a position (10 of them an impression, 20,000 items, 1 million users,
whole-number ids), of which the warm start learns the first impressions (`--learn`). Prints a
Markdown table. Every figure is from a process of its own, so that the memory is that part's alone;
compiling, which a machine does once, is done before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import faircascade as fc

K, DIM, ITEMS, USERS = 10, 10, 20_000, 1_000_000
WARM_UP = 20_000
"""Impressions of the log that compiles what is to be timed."""
BLOCK = 200_000
"""Impressions that are made at a time."""


def blocks_of(impressions: int, users: int, seed: int = 0) -> Iterator[pa.Table]:
    """Yield a log whose popular items are shown more, and whose clicks fade with the position."""
    rng = np.random.default_rng(seed)
    for first in range(0, impressions, BLOCK):
        n = min(BLOCK, impressions - first)
        start = (ITEMS * rng.random(n) ** 2).astype(np.int64)
        stride = rng.integers(1, ITEMS // K, size=n)
        items = (start[:, None] + stride[:, None] * np.arange(K)) % ITEMS
        chance = 0.3 * (1.0 - items / (2 * ITEMS)) / np.arange(1, K + 1)
        yield pa.table(
            {
                "impression_id": np.repeat(np.arange(first, first + n), K),
                "user_id": np.repeat(rng.integers(users, size=n), K),
                "item_id": items.ravel(),
                "position": np.tile(np.arange(1, K + 1, dtype=np.int8), n),
                "click": (rng.random((n, K)) < chance).astype(np.int8).ravel(),
            }
        )


def write_log(path: Path, impressions: int, users: int = USERS) -> Path:
    """Write a log once; the same one is taken again."""
    if not path.exists():
        unfinished = path.with_suffix(".part")
        writer = None
        for table in blocks_of(impressions, users):
            writer = writer or pq.ParquetWriter(unfinished, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
        unfinished.rename(path)
    return path


def ranker() -> fc.Ranker:
    features = np.random.default_rng(1).normal(size=(ITEMS, DIM)) / np.sqrt(DIM)
    return fc.Ranker(fc.EALinUCB(weight="log"), items=features, item_ids=np.arange(ITEMS))


def in_memory(path: Path) -> fc.Log:
    return fc.Log(pq.read_table(path))


PARTS: dict[str, tuple[str, Callable[[Any], Any], bool]] = {
    "read": (
        "reading alone (`Log.blocks`)",
        lambda log: sum(1 for _ in fc.Log(log).blocks()),
        True,
    ),
    "audit": ("`fc.audit`", fc.audit, True),
    "learn": ("`Ranker.learn`, reading included", lambda log: ranker().learn(log), False),
    "learn-memory": (
        "`Ranker.learn`, the log as an Arrow table in memory",
        lambda log: ranker().learn(log),
        False,
    ),
    "fit": ("`fc.fit_click_model(model='pbm')`", lambda log: fc.fit_click_model(log, "pbm"), False),
}
"""By name: title, what is done with a log, and whether with all of it."""


def timed(part: str, log: Path, small: Path) -> dict[str, float]:
    """Return seconds and gigabytes of one part."""
    _, work, _ = PARTS[part]
    opened = in_memory if part.endswith("memory") else Path
    work(opened(small))
    given = opened(log)
    begin = time.perf_counter()
    work(given)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "gigabytes": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000, help="of the whole log")
    parser.add_argument("--learn", type=int, default=1_000_000, help="impressions to learn from")
    parser.add_argument("--part", action="append", choices=PARTS, default=None)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="where logs are kept")
    parser.add_argument("--timed", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.timed:
        part, *paths = asked.timed
        print(json.dumps(timed(part, *map(Path, paths))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sizes = {WARM_UP, asked.learn, asked.rows // K}
        logs = {n: write_log(folder / f"log-{n}.parquet", n) for n in sizes}
        print("| what | impressions | seconds | impressions per second | peak memory |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for part in asked.part or PARTS:
            title, _, whole = PARTS[part]
            n = asked.rows // K if whole else asked.learn
            for _ in range(asked.repeats):
                command = [sys.executable, __file__, "--timed", part, logs[n], logs[WARM_UP]]
                found = json.loads(subprocess.check_output(command))
                print(
                    f"| {title} | {n:,} | {found['seconds']:.1f} | {n / found['seconds']:,.0f} "
                    f"| {found['gigabytes']:.1f} GB |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
