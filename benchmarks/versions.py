"""The same load on several versions of the service, or numbers of workers, one after the other.

    python benchmarks/versions.py before=OTHER/src now=src both=src:2

`NAME=SOURCES:WORKERS`; without a number there is one process without a supervisor, as in versions
that know no other. Prints a JSON document for each version and turn: single requests of many
clients as fast as they go, at a fixed rate, and batches; see `benchmarks/workers.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.http_load import at_rate
from benchmarks.service import ITEMS, USERS, K, serving, write_items
from benchmarks.workers import batches, measured, single_requests

FIGURES = ("pairs_per_second", "corrected", "service_cores", "cpu_ms_a_pair", "errors")


class Version(NamedTuple):
    """Something to measure."""

    name: str
    sources: Path
    workers: int | None

    @classmethod
    def of(cls, text: str) -> Self:
        """Read NAME=SOURCES:WORKERS."""
        name, _, rest = text.partition("=")
        sources, _, workers = rest.partition(":")
        return cls(name, Path(sources).resolve(), int(workers) if workers else None)


def figures(version: Version, seconds: float, rate: float) -> dict[str, Any]:
    """Start a version, put all loads on it, and return what came out."""
    os.environ["PYTHONPATH"] = str(version.sources)
    workers = () if version.workers is None else ("--workers", str(version.workers))
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_items(folder / "items.parquet", ITEMS)
        with serving(folder, "--items", "items.parquet", *workers) as server:
            uvloop.run(single_requests(server.port, 2.0))
            single = measured(server.pid, lambda: single_requests(server.port, seconds))
            steady = uvloop.run(
                at_rate(
                    "127.0.0.1",
                    server.port,
                    rate=rate,
                    seconds=seconds,
                    users=USERS,
                    connections=64,
                    k=K,
                )
            ).table()
            many = measured(server.pid, lambda: batches(server.port, seconds))
    return {
        "single requests": {name: single[name] for name in FIGURES},
        f"{rate:g} a second": {
            "recommend_p99_ms": steady["recommend"]["p99_ms"],
            "feedback_p99_ms": steady["feedback"]["p99_ms"],
            "errors": steady["errors"],
        },
        "batches": {name: many[name] for name in FIGURES},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all versions, in turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("versions", nargs="+", type=Version.of, metavar="NAME=SOURCES:WORKERS")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rate", type=float, default=800.0, help="single requests a second")
    parser.add_argument("--turns", type=int, default=2)
    chosen = parser.parse_args(arguments)
    for turn in range(chosen.turns):
        for version in chosen.versions:
            found = figures(version, chosen.seconds, chosen.rate)
            print(json.dumps({"version": version.name, "turn": turn, **found}), flush=True)


if __name__ == "__main__":
    main()
