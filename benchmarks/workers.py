"""One worker and several on the same cores: pairs a second, with the load generator taken out.

The generator runs on the cores of the service. While all cores are busy, what it takes is missing
to the service: so the pairs per second of wall time say too little. `corrected` is what the service
would do with all cores for itself, (pairs per second) x cores / (cores - cores that the generator
used). It says too much where cores were idle, so the share of idle cores stands beside it, and so
does the CPU that the processes of the service took for a pair.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import uvloop
from benchmarks.http_load import Seen, in_batches, in_closed_loop, in_open_loop
from tests.service.processes import descendants

CONNECTIONS = 64
"""Enough for every worker to have many at a time, which costs less than one by one."""
SECONDS = 10.0
SIZE = 64
USERS = 10_000
K = 10


def family(pid: int) -> list[int]:
    """Return a process and all that it started, by id."""
    return [pid, *descendants(pid)]


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process and those it started used so far."""
    total = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> list[int]:
    """Return the resident memory of a process and those it started, in MB."""
    texts = [Path(f"/proc/{one}/status").read_text() for one in family(pid)]
    found = [re.search(r"VmRSS:\s+(\d+)", text) for text in texts]
    return [round(int(one[1]) / 1024) for one in found if one]


def idle() -> float:
    """Return the seconds that cores of this machine were idle."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def measured(pid: int, load: Callable[[], Coroutine[Any, Any, Seen]]) -> dict[str, Any]:
    """Put a load on a service and return its figures and who used which cores."""
    cores = os.cpu_count() or 1
    served, own, rested, begin = cpu_of(pid), time.process_time(), idle(), time.perf_counter()
    seen = uvloop.run(load())
    wall = time.perf_counter() - begin
    served, own, rested = cpu_of(pid) - served, time.process_time() - own, idle() - rested
    rate = seen.pairs / wall
    return seen.table() | {
        "corrected": round(rate * cores / (cores - own / wall)),
        "service_cores": round(served / wall, 2),
        "generator_cores": round(own / wall, 2),
        "idle_cores": round(rested / wall, 2),
        "cpu_ms_a_pair": round(1e3 * served / max(1, seen.pairs), 3),
    }


def single_requests(port: int, seconds: float = SECONDS) -> Coroutine[Any, Any, Seen]:
    """Clients that ask, answer, and ask again."""
    return in_closed_loop(
        "127.0.0.1", port, seconds=seconds, users=USERS, connections=CONNECTIONS, k=K
    )


def batches(port: int, seconds: float = SECONDS) -> Coroutine[Any, Any, Seen]:
    """Clients that send one batch after the other."""
    return in_batches(
        "127.0.0.1", port, size=SIZE, seconds=seconds, users=USERS, connections=8, k=K
    )


def figures(pid: int, port: int, rate: float = 800.0) -> dict[str, Any]:
    """Return the figures of a service that runs."""
    uvloop.run(single_requests(port, 2.0))
    open_loop = in_open_loop(
        "127.0.0.1", port, rate=rate, seconds=SECONDS, users=USERS, connections=64, k=K
    )
    return {
        "single requests": measured(pid, lambda: single_requests(port)),
        f"{rate:g} a second": uvloop.run(open_loop).table(),
        f"batches of {SIZE}": measured(pid, lambda: batches(port)),
        "memory_mb": memory_of(pid),
    }
