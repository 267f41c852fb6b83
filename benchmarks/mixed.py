"""Single requests while others send large batches: how long they wait, and what batches lose.

    python benchmarks/mixed.py                       # about two minutes
    python benchmarks/mixed.py --before OTHER/src    # the same with another version, in turns

Batches come from a process of their own, so that reading their answers holds up no single request.
Prints one JSON document a version and kind of batch: pairs a second in batches alone, then with
single requests beside them, and the latencies of these. The CPU that a pair takes the service says
what a version costs even where other programs use the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.http_load import at_rate, in_batches
from benchmarks.service import ITEMS, USERS, K, Server, serving, write_items

SIZE = 1_000
CONNECTIONS = 4
KINDS = {"plain": 0, "distinct exclusions": 50}
"""How many items each request of a batch leaves out."""
RATE = 50.0
"""Single pairs a second."""


def batches(port: int, seconds: float, left_out: int) -> dict[str, Any]:
    """Put the load of batches on a service."""
    load = in_batches(
        "127.0.0.1",
        port,
        size=SIZE,
        seconds=seconds,
        users=USERS,
        connections=CONNECTIONS,
        k=K,
        exclude=left_out,
    )
    return uvloop.run(load).table()


def singles(port: int, seconds: float) -> dict[str, Any]:
    """Put the load of single requests on a service."""
    load = at_rate("127.0.0.1", port, rate=RATE, seconds=seconds, users=USERS, connections=32, k=K)
    return uvloop.run(load).table()


def measured(server: Server, seconds: float, left_out: int) -> dict[str, Any]:
    """Return the figures of batches alone, and of both."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(batches, server.port, 2.0, left_out).result()
        cpu = server.cpu
        alone = pool.submit(batches, server.port, seconds, left_out).result()
        cpu = server.cpu - cpu
        beside = pool.submit(batches, server.port, seconds, left_out)
        waited = singles(server.port, seconds - 0.5)
        both = beside.result()
    return {
        "batches_alone": alone["pairs_per_second"],
        "cpu_ms_a_pair": round(1e3 * cpu / max(1, alone["pairs"]), 4),
        "batches_beside_singles": both["pairs_per_second"],
        "errors": alone["first_errors"] + both["first_errors"] + waited["first_errors"],
        "single": waited["recommend"],
        "single_feedback": waited["feedback"],
        "batch": both["recommend"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one or two versions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", type=Path, help="sources of another version to compare with")
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--turns", type=int, default=1)
    chosen = parser.parse_args(arguments)
    versions = {"now": Path(__file__).parents[1] / "src"}
    if chosen.before is not None:
        versions = {"before": chosen.before.resolve(), **versions}
    for turn in range(chosen.turns):
        for name, sources in versions.items():
            with ExitStack() as stack:
                folder = Path(stack.enter_context(TemporaryDirectory()))
                write_items(folder / "items.parquet", ITEMS)
                os.environ["PYTHONPATH"] = str(sources)
                server = stack.enter_context(serving(folder, "--items", "items.parquet"))
                for kind, left_out in KINDS.items():
                    found = measured(server, chosen.seconds, left_out)
                    told = {"version": name, "turn": turn, "batches": kind, **found}
                    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
