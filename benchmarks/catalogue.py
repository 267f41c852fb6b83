"""What a large catalogue costs the service: start, memory, changes, slates. Without HTTP.

    python benchmarks/catalogue.py                    # a million items, some minutes
    python benchmarks/catalogue.py --items 100000
    python benchmarks/catalogue.py --part changes     # one of the parts, see --help
    python benchmarks/catalogue.py --part filtered --attributes --exposed 3

Each part runs in a process of its own, on a SQLite store that is filled once. Prints one JSON
document a part.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from faircascade.experiment.machine import describe_machine
from faircascade.policies import EALinUCB
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.bootstrap import start_service
from faircascade.service.catalogue.free_memory import FreeMemory, keep_little
from faircascade.service.exposure.counters import Counters
from faircascade.service.exposure.counts import Counts
from faircascade.service.exposure.encoding import to_bytes
from faircascade.service.exposure.windows import OPEN, Step
from faircascade.service.messages import FeedbackRequest, ItemChange, RecommendationRequest
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import ItemPatch, StoreShape
from faircascade.service.stores.sqlite import SQLiteStore

DIM, K, KNOWN = 10, 10, 200
POLICY = EALinUCB(weight="log")


def features(items: int, seed: int = 0) -> np.ndarray:
    """Return feature rows of length 1."""
    rows = np.random.default_rng(seed).normal(size=(items, DIM))
    return rows / np.linalg.norm(rows, axis=1)[:, None]


def attributes(n: int) -> dict[str, Any]:
    """Return one attribute of each kind; a tenth of all items have each tag."""
    hashed = n * 2_654_435_761 % 2**32
    return {
        "price": hashed % 10_000 / 100.0,
        "in_stock": hashed % 20 > 0,
        "language": ("de", "en", "fr", "it")[hashed % 4],
        "tags": [f"tag-{hashed % 10}", f"tag-{hashed // 10 % 10}"],
    }


async def fill(path: Path, items: int, *, attributed: bool) -> None:
    """Put items into a new store."""
    store = SQLiteStore(path)
    await store.open(StoreShape(dim=DIM, sums=1 + DIM + DIM * (DIM + 1) // 2))
    rows = features(items)
    for first in range(0, items, 20_000):
        await store.put_items(
            [
                ItemPatch(
                    id=f"item-{n}",
                    features=rows[n],
                    merit=1.0 + n % 7,
                    groups={"group": f"group-{n % 18}", "supplier": f"supplier-{n % 200}"},
                    attributes=attributes(n) if attributed else {},
                )
                for n in range(first, min(items, first + 20_000))
            ]
        )
    await store.close()


async def expose(path: Path, items: int, rate: float) -> None:
    """Keep the counts of a week in which slates of random items were shown, so many a second."""
    account, draw, now = Counters(), np.random.default_rng(3), time.time()
    worth = exposure_units(K)
    slots = np.arange(items)
    for window in account.windows.values():
        window.running = int(now // window.span.seconds)
        for number in range(window.first, window.running - OPEN + 1):
            share = rate * window.span.seconds / items
            entries = np.zeros((5, items), dtype=np.int64)
            for units in worth.tolist():
                seen = draw.poisson(share, items)
                entries[0] += seen
                entries[1] += units * seen
            entries[2] = draw.poisson(share, items)  # a click for each slate
            counts = Counts()
            counts.add_entries(slots, entries)
            counts.totals[:3] = round(rate * window.span.seconds)
            window.closed[number] = step = Step.pack(counts, np.zeros(5))
            step.add_to(window.total)
    Step.pack(window.total, np.zeros(5)).add_to(account.counts)
    account.first = now - 7 * 86_400
    store = SQLiteStore(path)
    await store.open(StoreShape(dim=DIM, sums=1 + DIM + DIM * (DIM + 1) // 2))
    cursor, _ = await store.counts()
    await store.keep_counts(cursor or "0", to_bytes(account))
    await store.close()


async def served(folder: Path) -> Service:
    return await start_service(
        f"sqlite:{folder}/faircascade.db",
        policy=POLICY,
        settings=ServiceSettings(max_batch=1_000, max_candidates=10_000),
    )


def memory(name: str = "VmRSS") -> int:
    """Return the memory of this process in MB; `VmHWM` is the most it ever had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) // 1024


async def take(times: int, work: Callable[[int], Awaitable[Any]]) -> dict[str, float]:
    """Return milliseconds of repeated work, and of CPU, which other processes move less."""
    seen, used = [], []
    for number in range(times):
        begin, cpu = time.perf_counter(), time.process_time()
        await work(number)
        seen.append(1000 * (time.perf_counter() - begin))
        used.append(1000 * (time.process_time() - cpu))
    wall = {
        name: round(float(np.quantile(seen, q)), 1)
        for name, q in {"best": 0.0, "p50": 0.5, "p99": 0.99}.items()
    }
    cpu = {
        f"cpu_{name}": float(np.quantile(used, q)) for name, q in {"p50": 0.5, "p99": 0.99}.items()
    }
    return wall | {name: round(value, 1) for name, value in cpu.items()}


async def ask(service: Service, *requests: RecommendationRequest) -> list[Any]:
    answers = await service.recommend(requests)
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return list(answers)


async def meet(service: Service, users: int = KNOWN, answers: int = 3) -> None:
    """Let users answer some slates."""
    draw = np.random.default_rng(1)
    for _ in range(answers):
        for first in range(0, users, 50):
            shown = await ask(
                service,
                *(
                    RecommendationRequest(user=f"known-{n}", k=K)
                    for n in range(first, min(users, first + 50))
                ),
            )
            await service.learn(
                [
                    FeedbackRequest(
                        impression_id=one.impression_id,
                        clicked_position=int(draw.integers(1, K + 1)),
                    )
                    for one in shown
                ]
            )


async def start(folder: Path, items: int) -> dict[str, Any]:
    """From the store to ready, and memory then and after slates of all kinds."""
    begin = time.perf_counter()
    service = await served(folder)
    ready = time.perf_counter() - begin
    out = {
        "seconds": round(ready, 2),
        "cpu_seconds_with_imports": round(time.process_time(), 2),
        "memory_mb": memory(),
    }
    await meet(service)
    await slates_of(service, items, few=True)
    out |= {"memory_after_slates_mb": memory(), "most_memory_mb": memory("VmHWM")}
    FreeMemory().give_back()
    out["memory_given_back_mb"] = memory()
    await service.stop()
    return out


async def changes(folder: Path, items: int) -> dict[str, Any]:
    """One-item changes, each followed by a slate: time of a change, growth of memory."""
    service = await served(folder)
    gc.collect()
    gc.freeze()
    gc.disable()  # nothing may wait for the collector
    rows = features(1_000, seed=1)

    async def change(number: int) -> None:
        name = f"item-{(number * 7919) % items}"
        await service.put_items([ItemChange(item=name, features=rows[number % 1_000])])

    async def change_and_ask(number: int) -> None:
        await change(number)
        await ask(service, RecommendationRequest(user="somebody", k=K))

    await take(20, change_and_ask)
    before = memory()
    times = await take(300, change)
    await take(100, change_and_ask)
    add = [ItemChange(item=f"new-{n}", features=rows[n]) for n in range(1_000)]
    begin = time.perf_counter()
    await service.put_items(add)
    thousand = time.perf_counter() - begin
    grown = memory() - before
    await service.stop()
    return {
        "one_item_ms": times,
        "a_thousand_new_ms": round(1000 * thousand, 1),
        "growth_mb_over_400_changes": grown,
    }


async def slates(folder: Path, items: int) -> dict[str, Any]:
    """Slates for one user and for many at once."""
    service = await served(folder)
    await meet(service)
    gc.collect()
    gc.freeze()
    out = await slates_of(service, items)
    await service.stop()
    return out


async def filtered(folder: Path, items: int) -> dict[str, Any]:
    """Slates under rules, for items with attributes: see --attributes."""
    before = memory()
    service = await served(folder)
    out: dict[str, Any] = {"memory_mb": memory(), "memory_of_imports_mb": before}
    await meet(service)
    gc.collect()
    gc.freeze()

    def asking(kind: str = "known", **rules: Any) -> Callable[[int], Awaitable[Any]]:
        async def work(number: int) -> None:
            user = f"{kind}-{number % KNOWN if kind == 'known' else number}"
            await ask(service, RecommendationRequest(user=user, k=K, **rules))

        return work

    async def different(number: int) -> None:
        await ask(
            service,
            *(
                RecommendationRequest(
                    user=f"known-{n}",
                    k=K,
                    where={"price": {"at_least": n + number / 7, "below": n + number / 7 + 10}},
                )
                for n in range(50)
            ),
        )

    tenth = {"price": {"below": 10}}
    kinds = {
        "a_tenth": asking(where=tenth),
        "a_tenth_new_users": asking("other", where=tenth),
        "nearly_all": asking(where={"in_stock": True}),
        "half_by_tags": asking(where={"tags": {"any": [f"tag-{n}" for n in range(3)]}}),
        "two_of_a_supplier": asking(at_most={"supplier": 2}),
        "one_of_a_group": asking(at_most={"group": 1}),
        "pinned": asking(pinned=[{"item": "item-7", "position": 2}]),
        "all_together": asking(where=tenth, at_most={"supplier": 2}),
    }
    for name, work in kinds.items():
        first = await take(1, work)
        out[name] = {"first_ms": first["best"], "then": await take(300, work)}
    pause = 0.0

    async def watch() -> None:
        nonlocal pause
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.001)
            pause = max(pause, time.perf_counter() - begin)

    watching = asyncio.create_task(watch())
    out["batch_of_50_filters_ms"] = await take(3, different)
    watching.cancel()
    for kind in ("known", "other"):
        for number in range(150):
            where = {"price": {"at_least": number / 5, "below": number / 5 + 10}}
            await ask(service, RecommendationRequest(user=f"{kind}-{number}", k=K, where=where))
    out["longest_pause_of_others_ms"] = round(1000 * pause, 1)
    out["memory_after_mb"] = memory()
    FreeMemory().give_back()  # as maintenance does every half minute
    out["memory_given_back_mb"], out["most_memory_mb"] = memory(), memory("VmHWM")
    await service.stop()
    return out


async def slates_of(service: Service, items: int, *, few: bool = False) -> dict[str, Any]:
    draw = np.random.default_rng(2)
    times = 20 if few else 300

    def left_out(count: int) -> list[str]:
        return [f"item-{n}" for n in draw.integers(0, items, size=count)]

    async def known(number: int) -> None:
        await ask(service, RecommendationRequest(user=f"known-{number % KNOWN}", k=K))

    async def new(number: int) -> None:
        await ask(service, RecommendationRequest(user=f"new-{number}", k=K))

    async def excluding(number: int) -> None:
        user = f"known-{number % KNOWN}"
        await ask(service, RecommendationRequest(user=user, k=K, exclude=left_out(50)))

    async def among(number: int) -> None:
        user = f"known-{number % KNOWN}"
        await ask(service, RecommendationRequest(user=user, k=K, candidates=left_out(500)))

    def batch(kind: str, size: int, exclude: int = 0) -> Callable[[int], Awaitable[Any]]:
        async def work(number: int) -> None:
            users = KNOWN if kind == "known" else 10**9
            await ask(
                service,
                *(
                    RecommendationRequest(
                        user=f"{kind}-{(number * size + n) % users}",
                        k=K,
                        exclude=left_out(exclude),
                    )
                    for n in range(size)
                ),
            )

        return work

    out = {
        "known_ms": await take(times, known),
        "new_ms": await take(times, new),
        "known_excluding_50_ms": await take(times // 3, excluding),
        "among_500_candidates_ms": await take(times // 3, among),
        "batch_of_50_known_ms": await take(times // 20, batch("known", 50)),
        "batch_of_50_new_ms": await take(times // 20, batch("other", 50)),
    }
    if not few:
        out["batch_of_1000_excluding_50_each_ms"] = await take(2, batch("known", 1_000, 50))
    return out


async def workers(folder: Path, items: int) -> dict[str, Any]:
    """A server of two workers: seconds from the command until one and both answer, and memory."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks.workers import memory_of  # not in the processes that are measured

    store = f"sqlite:{folder.resolve()}/faircascade.db"
    arguments = ["--port", "0", "--store", store, "--policy", POLICY.name, "--workers", "2"]
    command = [sys.executable, "-m", "faircascade", "serve", *arguments]
    out: dict[str, Any] = {}
    begin = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(
            m.group() for line in process.stderr if (m := re.search(r"http://\S+?:\d+", line))
        )
        read(f"{url}/readyz")
        out["seconds_to_first"] = round(time.perf_counter() - begin, 2)
        while "faircascade_workers 2.0" not in read(f"{url}/metrics"):
            time.sleep(0.02)
        out["seconds_to_both"] = round(time.perf_counter() - begin, 2)
        for number in range(100):
            read(f"{url}/v1/recommendations", json.dumps({"user": f"new-{number}", "k": K}))
        out["memory_mb"] = memory_of(process.pid)  # the supervisor comes first
    finally:
        process.terminate()
        process.wait(60)
    return out


def read(url: str, body: str | None = None) -> str:
    """Return what a server answers."""
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url, None if body is None else body.encode(), headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return str(answer.read().decode())


PARTS = {
    "start": start,
    "changes": changes,
    "slates": slates,
    "filtered": filtered,
    "workers": workers,
}
BY_DEFAULT = ("start", "changes", "slates")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--attributes", action="store_true", help="give items attributes")
    parser.add_argument(
        "--exposed", type=float, default=0.0, help="slates a second of random items, for a week"
    )
    parser.add_argument("--folder", type=Path, help="keep the store here, and use it again")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        keep_little()  # as `faircascade serve` does
        threadpool_limits(1, user_api="blas")
        (part,) = options.part
        print(json.dumps({part: asyncio.run(PARTS[part](options.folder, options.items))}))
        return
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "faircascade.db").exists():
            asyncio.run(
                fill(folder / "faircascade.db", options.items, attributed=options.attributes)
            )
            if options.exposed:
                asyncio.run(expose(folder / "faircascade.db", options.items, options.exposed))
        print(json.dumps({"items": options.items, "machine": describe_machine()}), flush=True)
        for part in options.part or BY_DEFAULT:
            inside = ["--inside", "--folder", str(folder), "--items", str(options.items)]
            subprocess.run([sys.executable, __file__, "--part", part, *inside], check=True)


if __name__ == "__main__":
    main()
