"""Import of events: how many a second the service takes, and what 100 kills leave behind.

`--part rates`: feedback from a file, a stream of Redis or a topic of Kafka (the broker that
librdkafka brings along for tests) into a service on SQLite, Redis or PostgreSQL, with the seconds
of CPU of the service and of the import. Both rates are those of acknowledged answers: from the
first second in which there was one to the end, and in the slowest five seconds of that time.
`--part kills`: the import is killed again and again, and now and then the service; then a copy of
the store that got the same events without kills has to be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
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
from tests.service.imports.product import ARGUMENTS, answered, answers, show
from tests.service.imports.streams import STREAMS
from tests.service.postgresql_server import PostgreSQLServer
from tests.service.redis_server import RedisServer
from tests.service.server_process import running

ITEMS, USERS, K = 2_800, 10_000, 10
STRETCH = 5
"""Seconds of which the slowest are told."""


def _redis(folder: Path, stack: ExitStack) -> str:
    (folder / "store").mkdir()
    return stack.enter_context(RedisServer(folder / "store")).url


STORES: dict[str, Callable[[Path, ExitStack], str]] = {
    "sqlite": lambda folder, stack: "sqlite:store.db",
    "redis": _redis,
    "postgresql": lambda folder, stack: stack.enter_context(PostgreSQLServer()).url,
}


def rates(kind: str, store: str, events: int) -> dict[str, Any]:
    """Import feedback at full speed into a service that nobody else uses."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_items(folder / "items.parquet", ITEMS)
        stream = STREAMS[kind](folder, stack)
        address = STORES[store](folder, stack)
        server = stack.enter_context(running(*ARGUMENTS, "--store", address, folder=folder))
        slates = show(server.url, events, users=USERS, k=K)
        stream.fill("clicks", [(e["impression_id"], json.dumps(e)) for e in answers(slates, k=K)])
        before = cpu_of(server.pid)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "faircascade", "import", *stream.address("clicks")]
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--to", server.url, "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        done = [0]
        while done[-1] < events and process.poll() is None:  # answers at each second
            time.sleep(max(0.0, begin + len(done) - time.perf_counter()))
            done.append(answered(server.url))
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        process.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of those that have ended
        seconds = time.perf_counter() - begin
        assert found["feedback"] == events, found
        full = done[next(n for n, count in enumerate(done) if count) : -1]
        stretches = zip(full, full[STRETCH:], strict=False)
        return {
            "events": events,
            "events a second": round(found["events_per_second"]),
            "in the slowest seconds": min(
                (round((after - before) / STRETCH) for before, after in stretches), default=None
            ),
            "seconds with the start": round(seconds, 1),
            "cpu of the service": round(cpu_of(server.pid) - before, 1),
            "cpu of the import": round(
                used.ru_utime + used.ru_stime - ended.ru_utime - ended.ru_stime, 1
            ),
            "load of the machine": round(os.getloadavg()[0], 1),
        }


def kills(kind: str, count: int, seed: int) -> dict[str, Any]:
    """Kill as often, with enough events that none of the kills comes too late."""
    with tempfile.TemporaryDirectory() as folder:
        return live_through_kills(
            Path(folder), kind, slates=200 * count, kills=count, users=1000, seed=seed
        )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["rates", "kills"])
    parser.add_argument("--source", choices=list(STREAMS), action="append")
    parser.add_argument("--store", choices=list(STORES), action="append")
    parser.add_argument("--events", type=int, default=150_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the moments of kills")
    given = parser.parse_args()
    sources = given.source or list(STREAMS)
    if given.part in (None, "rates"):
        for store in given.store or STORES:
            for kind in sources:
                found = rates(kind, store, given.events)
                print(f"{kind} into {store}: {json.dumps(found)}", flush=True)
    if given.part in (None, "kills"):
        for kind in sources:
            print(f"kills, {kind}: {json.dumps(kills(kind, given.kills, given.seed))}", flush=True)


if __name__ == "__main__":
    main()
