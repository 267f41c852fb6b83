"""Import of events into a service on SQLite: how many a second, and what 100 kills leave behind.

`--part rates`: feedback from a file, a stream of Redis and a topic of Kafka (the broker that
librdkafka brings along for tests), with the seconds of CPU of the service and of the import.
`--part kills`: the import is killed again and again, and now and then the service; then a copy of
the store that got the same events without kills has to be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.service import write_items
from benchmarks.workers import cpu_of
from tests.service.imports.kills import live_through_kills
from tests.service.imports.product import ARGUMENTS, answers, show
from tests.service.imports.streams import STREAMS
from tests.service.server_process import running

ITEMS, K = 2_800, 10


def rates(kind: str, events: int) -> dict[str, Any]:
    """Import feedback at full speed into a service that nobody else uses."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_items(folder / "items.parquet", ITEMS)
        stream = STREAMS[kind](folder, stack)
        server = stack.enter_context(
            running(*ARGUMENTS, "--store", "sqlite:store.db", folder=folder)
        )
        slates = show(server.url, events, users=10_000, k=K)
        stream.fill("clicks", [(e["impression_id"], json.dumps(e)) for e in answers(slates, k=K)])
        before = cpu_of(server.pid)
        command = [sys.executable, "-m", "faircascade", "import", *stream.address("clicks")]
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--to", server.url, "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        seconds = time.perf_counter() - begin
        assert found["feedback"] == events, found
        return {
            "events": events,
            "events a second": round(found["events_per_second"]),
            "seconds with the start": round(seconds, 1),
            "cpu of the service": round(cpu_of(server.pid) - before, 1),
            "cpu of the import": round(used.ru_utime + used.ru_stime, 1),
            "load of the machine": round(os.getloadavg()[0], 1),
        }


def kills(kind: str, count: int) -> dict[str, Any]:
    """Kill as often, with enough events that none of the kills comes too late."""
    with tempfile.TemporaryDirectory() as folder:
        return live_through_kills(
            Path(folder), kind, slates=240 * count, kills=count, users=1000, seed=1
        )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["rates", "kills"], action="append")
    parser.add_argument("--source", choices=list(STREAMS), action="append")
    parser.add_argument("--events", type=int, default=150_000)
    parser.add_argument("--kills", type=int, default=100)
    given = parser.parse_args()
    parts: dict[str, Callable[[str], dict[str, Any]]] = {
        "rates": lambda kind: rates(kind, given.events),
        "kills": lambda kind: kills(kind, given.kills),
    }
    for part in given.part or parts:
        for kind in given.source or STREAMS:
            print(f"{part}, {kind}: {json.dumps(parts[part](kind))}", flush=True)


if __name__ == "__main__":
    main()
