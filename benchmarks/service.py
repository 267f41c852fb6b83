"""What the service can take: requests per second, latencies, memory, start, and being killed.

    python benchmarks/service.py                  # all parts, about 20 minutes on two idle cores
    python benchmarks/service.py --part rate      # one of the parts, see --help
    python benchmarks/service.py --part killed --minutes 30    # a long chaos run (`make soak`)

The load comes from this machine too, over the loopback. Every part starts a real
`faircascade serve` on a store in a temporary folder (`--folder` puts it on another disk). Prints
one JSON document a part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.http_load import at_rate, in_batches, in_closed_loop, in_open_loop, one_client
from benchmarks.workers import figures, memory_of, single_requests
from tests.service.crashes import Fleet, Witness, check, live_through
from tests.service.crashes import write_items as write_few_items
from tests.service.event_log.journals import check_log
from tests.service.postgresql_server import PostgreSQLServer
from tests.service.redis_server import RedisServer

from faircascade.experiment.machine import describe_machine
from faircascade.policies import EALinUCB
from faircascade.service.stores.base import StoreShape
from faircascade.service.stores.registry import store_at
from faircascade.service.stores.sqlite import SQLiteStore

DIM, K, ITEMS, USERS = 10, 10, 2_800, 10_000
POLICY = ["--policy", "ealinucb", "--weight", "log"]
HOUR_OF_PAIRS = 400 * 3600
KILLS = 20
LOGGED = ["--event-log", "log", "--event-log-rotate", "10s"]
OVERLOAD_SECONDS = 20.0


def write_items(path: Path, items: int, seed: int = 0) -> None:
    """Write a catalogue of feature rows of length 1, with groups, suppliers and merit."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(items, DIM))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    table = {
        "item_id": [f"item-{n}" for n in range(items)],
        "features": list(rows),
        "merit": draw.uniform(0.1, 1.0, size=items),
        "group": [f"group-{n % 18}" for n in range(items)],
        "supplier": [f"supplier-{int(s)}" for s in draw.pareto(1.2, size=items) * 10 % 200],
    }
    pq.write_table(pa.table(table), path)


class Server:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str, ready: float) -> None:
        self.pid = process.pid
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.ready = ready
        """Seconds from the command to the first answer that it is ready."""

    @property
    def memory(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    @property
    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    """Start the command, wait until it is ready, stop it in the end."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "faircascade", "serve", "--port", "0", *POLICY, *arguments]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        url = next(
            (m.group() for line in process.stderr if (m := re.search(r"http://\S+?:\d+", line))),
            None,
        )
        if url is None:
            raise SystemExit("the service did not start")
        while True:
            try:
                urllib.request.urlopen(f"{url}/readyz", timeout=30).read()
                break
            except OSError:
                time.sleep(0.02)
        reader = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
        try:
            yield Server(process, url, time.perf_counter() - begin)
        finally:
            process.terminate()
            process.wait(60)
            reader.wait(10)


def rate(folder: Path) -> dict[str, Any]:
    """400 pairs a second as single requests for a minute."""
    write_items(folder / "items.parquet", ITEMS)
    with serving(folder, "--items", "items.parquet") as server:
        uvloop.run(run_rate(server, seconds=5))  # warm
        before = server.cpu
        seen = uvloop.run(run_rate(server, seconds=60))
        return seen | {"server_cpu_share": round((server.cpu - before) / 60, 2)}


def rates(folder: Path) -> dict[str, Any]:
    """400 to 1,200 pairs a second as single requests, 20 seconds each."""
    write_items(folder / "items.parquet", ITEMS)
    out: dict[str, Any] = {}
    with serving(folder, "--items", "items.parquet") as server:
        for pairs in (400, 800, 1200):
            uvloop.run(run_rate(server, seconds=3, rate=pairs))
            before = server.cpu
            seen = uvloop.run(run_rate(server, seconds=20, rate=pairs))
            share = round((server.cpu - before) / 20, 2)
            out[str(pairs)] = seen | {"server_cpu_share": share}
    return out


async def run_rate(server: Server, seconds: float, rate: float = 400) -> dict[str, Any]:
    seen = await at_rate(
        "127.0.0.1", server.port, rate=rate, seconds=seconds, users=USERS, connections=32, k=K
    )
    return seen.table()


def overload(folder: Path) -> dict[str, Any]:
    """Once, twice and ten times as many pairs as it can do, asked for in open loop.

    The generator has one core of two: where it sends less than it should, or late, the machine is
    the limit, and the service has not seen that load.
    """
    write_items(folder / "items.parquet", ITEMS)
    out: dict[str, Any] = {}
    with serving(folder, "--items", "items.parquet") as server:

        async def load(rate: float, seconds: float, connections: int) -> dict[str, Any]:
            seen = await in_open_loop(
                "127.0.0.1",
                server.port,
                rate=rate,
                seconds=seconds,
                users=USERS,
                connections=connections,
                k=K,
            )
            return seen.table()

        uvloop.run(load(200, 5, 16))  # warm
        most = uvloop.run(load(100_000, 0.1, 16))  # a queue that 16 clients work off
        out["capacity"] = capacity = most["slates_per_second"]
        for times in (1, 2, 10):
            before = server.cpu
            seen = uvloop.run(load(times * capacity, OVERLOAD_SECONDS, 250))
            share = (server.cpu - before) / OVERLOAD_SECONDS
            out[f"{times}x"] = seen | {"server_cpu_share": round(share, 2)}
        out["memory_mb"] = round(server.memory)
    return out


def alone(folder: Path) -> dict[str, Any]:
    """One client that waits for each answer."""
    write_items(folder / "items.parquet", ITEMS)
    with serving(folder, "--items", "items.parquet") as server:
        uvloop.run(one_client("127.0.0.1", server.port, pairs=500, users=USERS, k=K))
        seen = uvloop.run(one_client("127.0.0.1", server.port, pairs=10_000, users=USERS, k=K))
        load = one_client("127.0.0.1", server.port, pairs=2_000, users=USERS, k=K, exclude=50)
        return seen.table() | {"with 50 items left out": uvloop.run(load).table()}


def batches(folder: Path) -> dict[str, Any]:
    """Batches of 50 as fast as they go, for half a minute."""
    write_items(folder / "items.parquet", ITEMS)
    with serving(folder, "--items", "items.parquet") as server:

        async def load(seconds: float) -> dict[str, Any]:
            seen = await in_batches(
                "127.0.0.1",
                server.port,
                size=50,
                seconds=seconds,
                users=USERS,
                connections=4,
                k=K,
            )
            return seen.table()

        uvloop.run(load(5))
        before = server.cpu
        seen = uvloop.run(load(30))
        return seen | {"server_cpu_share": round((server.cpu - before) / 30, 2)}


def memory(folder: Path) -> dict[str, Any]:
    """As many pairs as 400 a second make in an hour, in batches; memory every twentieth of them."""
    write_items(folder / "items.parquet", ITEMS)
    samples: list[tuple[int, float]] = []
    with serving(folder, "--items", "items.parquet") as server:

        async def look(seen: Any) -> None:
            if seen.pairs >= len(samples) * HOUR_OF_PAIRS // 20:
                samples.append((seen.pairs, round(server.memory, 1)))

        seen = uvloop.run(
            in_batches(
                "127.0.0.1",
                server.port,
                size=50,
                seconds=3600,
                users=USERS,
                connections=4,
                k=K,
                each=look,
                pairs=HOUR_OF_PAIRS,
            )
        )
        size = sum(path.stat().st_size for path in folder.glob("faircascade.db*")) / 2**20
        return seen.table() | {"memory_mb": samples, "store_mb": round(size)}


def large(folder: Path) -> dict[str, Any]:
    """100,000 items, one client: users who were never seen, and users who come back."""
    write_items(folder / "items.parquet", 100_000)
    out: dict[str, Any] = {}
    with serving(folder, "--items", "items.parquet") as server:
        out["start_s"] = round(server.ready, 2)
        for name, users, pairs in (("new users", 2_000, 2_000), ("known users", 200, 2_000)):
            load = one_client("127.0.0.1", server.port, pairs=pairs, users=users, k=K)
            out[name] = uvloop.run(load).table()
        load = one_client("127.0.0.1", server.port, pairs=500, users=200, k=K, exclude=50)
        out["with 50 items left out"] = uvloop.run(load).table()
        out["memory_mb"] = round(server.memory)
    return out


def start(folder: Path) -> dict[str, Any]:
    """From the command to ready, on a store with a million users."""
    write_items(folder / "items.parquet", ITEMS)
    with serving(folder, "--items", "items.parquet"):
        pass
    sums = 1 + DIM + DIM * (DIM + 1) // 2

    async def import_items() -> None:
        store = SQLiteStore(folder / "faircascade.db")
        await store.open(StoreShape(dim=DIM, sums=sums))
        draw = np.random.default_rng(0)
        for first in range(0, 1_000_000, 50_000):
            names = [f"user-{n}" for n in range(first, first + 50_000)]
            rows = draw.normal(size=(50_000, sums))
            await store.put_users(names, rows, np.full(50_000, 12))
        await store.close()

    uvloop.run(import_items())
    times = []
    for _ in range(5):
        with serving(folder, "--items", "items.parquet") as server:
            times.append(round(server.ready, 2))
    megabytes = (folder / "faircascade.db").stat().st_size / 2**20
    return {"ready_s": times, "store_mb": round(megabytes)}


def event_log(folder: Path) -> dict[str, Any]:
    """Pairs a second and their CPU without an event log and with one, in turn; size of the log."""
    write_items(folder / "items.parquet", ITEMS)
    out: dict[str, Any] = {}
    for turn in range(6):
        log = folder / f"log-{turn}"
        logged = ["--event-log", str(log)] if turn % 2 else []
        arguments = ["--items", "items.parquet", "--store", f"sqlite:{turn}.db", *logged]
        with serving(folder, *arguments) as server:
            for name, load in (("single", _single), ("batches of 50", _in_fifties)):
                uvloop.run(load(server, 3))
                before, seen = server.cpu, uvloop.run(load(server, 15))
                out[f"{turn}: {name}{', logged' if logged else ''}"] = {
                    "pairs_per_second": round(seen.pairs / seen.wall),
                    "server_cpu_ms_per_pair": round(1e3 * (server.cpu - before) / seen.pairs, 3),
                }
        if logged:
            rows = sum(pq.read_metadata(path).num_rows for path in log.glob("*.parquet"))
            for name, paths in (("rows", log.glob("*.parquet")), ("journal", log.rglob("0*"))):
                size = sum(path.stat().st_size for path in paths) / rows
                out[f"{turn}: bytes of {name} per impression"] = round(size)
    return out


async def _single(server: Server, seconds: float) -> Any:
    return await in_closed_loop(
        "127.0.0.1", server.port, seconds=seconds, users=USERS, connections=16, k=K
    )


async def _in_fifties(server: Server, seconds: float) -> Any:
    return await in_batches(
        "127.0.0.1", server.port, size=50, seconds=seconds, users=USERS, connections=4, k=K
    )


def workers(folder: Path) -> dict[str, Any]:
    """One worker and one for each core, on SQLite, in one run; then memory at a million items."""
    write_items(folder / "items.parquet", ITEMS)
    out: dict[str, Any] = {}
    for count in (1, os.cpu_count() or 1, 1, os.cpu_count() or 1):
        store = f"sqlite:{len(out)}.db"
        arguments = ["--items", "items.parquet", "--store", store, "--workers", str(count)]
        with serving(folder, *arguments) as server:
            out[f"{len(out)}: {count} workers"] = figures(server.pid, server.port)
    return out


def workers_large(folder: Path) -> dict[str, Any]:
    """A million items and a worker for each core: memory of each, and seconds to ready."""
    write_items(folder / "items.parquet", 1_000_000)
    count = str(os.cpu_count() or 1)
    with serving(folder, "--items", "items.parquet", "--workers", count) as server:
        out: dict[str, Any] = {"with import_s": round(server.ready, 2)}
    with serving(folder, "--workers", count) as server:
        out["restart_s"] = round(server.ready, 2)
        while len(memory_of(server.pid)) <= int(count):
            time.sleep(0.1)
        uvloop.run(single_requests(server.port))
        out["memory_mb"] = memory_of(server.pid)
    return out


async def moments(minutes: float | None, draw: random.Random) -> AsyncIterator[int]:
    """Number the moments for a kill, at random intervals: `KILLS` of them, or for some minutes."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    turn = 0
    while turn < KILLS if end is None else time.monotonic() < end:
        await asyncio.sleep(0.2 + 2.0 * draw.random())
        yield turn
        turn += 1


def killed(folder: Path, minutes: float | None = None) -> dict[str, Any]:
    """kill -9 twenty times under load, on SQLite, with an event log."""
    witness = Witness(write_few_items(folder / "items.parquet"))
    policy = EALinUCB(weight="log", gamma=0.01)
    arguments = ["--items", "items.parquet", "--weight", "log", "--gamma", "0.01", *LOGGED]
    address = f"sqlite:{folder / 'store.db'}"
    fleet = Fleet(folder, [*arguments, "--store", address])
    draw = random.Random(7)
    kills = 0

    async def trouble() -> None:
        nonlocal kills
        async for turn in moments(minutes, draw):
            await fleet.kill(0)
            kills = turn + 1

    async def work() -> dict[str, Any]:
        await live_through(fleet, witness, trouble)
        found = await check(SQLiteStore(folder / "store.db"), witness, policy)
        again = f"sqlite:{folder / 'again.db'}"
        return found | await check_log(folder / "log", address, again, witness)

    found = uvloop.run(work())
    return {"kills": kills} | found


def killed_redis(folder: Path, minutes: float | None = None) -> dict[str, Any]:
    """Two services on one Redis, with an event log: each killed in turn, and Redis once in twenty
    times."""
    with RedisServer(folder) as redis:
        return _killed_with(redis, folder, minutes)


def killed_postgresql(folder: Path, minutes: float | None = None) -> dict[str, Any]:
    """Two services on one PostgreSQL, with an event log: each killed in turn, and the server once
    in twenty times."""
    with PostgreSQLServer() as postgresql:
        return _killed_with(postgresql, folder, minutes)


def _killed_with(
    server: RedisServer | PostgreSQLServer, folder: Path, minutes: float | None
) -> dict[str, Any]:
    witness = Witness(write_few_items(folder / "items.parquet"))
    policy = EALinUCB(weight="log", gamma=0.01)
    arguments = ["--items", "items.parquet", "--weight", "log", "--gamma", "0.01", *LOGGED]
    draw = random.Random(8)
    kills = 0
    fleet = Fleet(folder, [*arguments, "--store", server.url], size=2)

    async def trouble() -> None:
        nonlocal kills
        async for turn in moments(minutes, draw):
            if turn % KILLS == KILLS // 2:
                server.kill()
                await asyncio.sleep(1.0)
                server.start()
            await fleet.kill(turn % 2)
            kills = turn + 1

    async def work() -> dict[str, Any]:
        await live_through(fleet, witness, trouble)
        found = await check(store_at(server.url, ttl=7 * 86400.0), witness, policy)
        again = f"sqlite:{folder / 'again.db'}"
        return found | await check_log(folder / "log", server.url, again, witness)

    found = uvloop.run(work())
    return {"kills": kills, "server_restarts": (kills + KILLS // 2 - 1) // KILLS} | found


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "rate": rate,
    "rates": rates,
    "overload": overload,
    "alone": alone,
    "batches": batches,
    "memory": memory,
    "large": large,
    "start": start,
    "workers": workers,
    "event-log": event_log,
    "workers-large": workers_large,
    "killed": killed,
    "killed-redis": killed_redis,
    "killed-postgresql": killed_postgresql,
}
CHAOS = ("killed", "killed-redis", "killed-postgresql")
"""Parts that can go on for as long as one likes."""


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=[*PARTS], action="append")
    parser.add_argument("--folder", type=Path, help="where stores are made")
    parser.add_argument("--minutes", type=float, help="how long services are killed")
    args = parser.parse_args()
    print(json.dumps({"machine": describe_machine()}))
    for part in args.part or PARTS:
        with TemporaryDirectory(dir=args.folder) as folder:
            options = {"minutes": args.minutes} if part in CHAOS else {}
            print(json.dumps({part: PARTS[part](Path(folder), **options)}), flush=True)


if __name__ == "__main__":
    main()
