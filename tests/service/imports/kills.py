"""An import that is killed again and again, and one that is not: both have to come to the same.

Two copies of one store get the same events. One import runs undisturbed; the other, and its
service, are killed at random moments and started again. What the stores know afterwards is
compared: users, answers, clicks, items, and what was refused.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.policies import EALinUCB
from faircascade.service.service import Service
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.crashes import DIM, Fleet
from tests.service.imports.processes import ForkedImport, imported
from tests.service.imports.product import ARGUMENTS, ITEMS, answered, answers, make_items, show
from tests.service.imports.streams import STREAMS, Keyed

POLICY = EALinUCB(weight="log", gamma=0.01)
SERVICE_ONE_IN, START_ONE_IN = 10, 5
"""In one of so many lives of an import, the service is killed before; in one of so many, the import
is killed while it starts."""
MOMENT = 0.2
"""Seconds within which an import is killed, mostly from its first answer on."""


def story(slates: Sequence[dict[str, Any]], seed: int) -> list[Keyed]:
    """Return events of every kind about some slates, among them those that will be refused.

    Events about one thing come in an order that matters: a second, different answer; an erasure
    between two answers of a user; changes of an item.
    """
    draw = random.Random(seed)
    user_of = {slate["impression_id"]: slate["user"] for slate in slates}
    events: list[Keyed] = []
    version = 0
    for n, answer in enumerate(answers(slates, seed)):
        user = user_of[answer["impression_id"]]
        text = json.dumps(answer)
        events.append((user, text))
        match n % 20:
            case 3:  # the same once more
                events.append((user, text))
            case 7:  # another answer
                other = {"type": "feedback", "impression_id": answer["impression_id"]}
                events.append((user, json.dumps({**other, "clicked_positions": [1, 2, 3, 4, 5]})))
            case 11:
                version += 1
                item = f"item-{draw.randrange(ITEMS)}"
                features = [draw.uniform(-1, 1) for _ in range(DIM)]
                change = {"type": "put_item", "item": item, "features": features, "merit": version}
                events.append((item, json.dumps(change)))
            case 13:
                item = f"extra-{draw.randrange(10)}"
                change = {"type": "put_item", "item": item, "features": [0.1] * DIM}
                removal = {"type": "remove_item", "item": item}
                events.append((item, json.dumps(draw.choice([change, removal]))))
            case 17:
                wrong = ['{"type": "click"}', "nonsense", '{"type": "feedback"}', "[]"]
                unknown = json.dumps({"type": "feedback", "impression_id": f"unknown-{n}"})
                events.append((user, draw.choice([*wrong, unknown])))
        if n % 400 == 399:
            events.append((user, json.dumps({"type": "erase_user", "user": user})))
    return events


def live_through_kills(
    folder: Path, kind: str, *, slates: int, kills: int, users: int = 50, seed: int = 0
) -> dict[str, Any]:
    """Import with and without kills, and compare; return how it went."""
    draw = random.Random(seed)
    make_items(folder)
    with ExitStack() as stack:
        stream = STREAMS[kind](folder, stack)
        fleet = Fleet(folder, [*ARGUMENTS, "--store", "sqlite:killed.db"])
        asyncio.run(fleet.begin())
        try:
            shown = show(fleet.urls[0], slates, users)
            asyncio.run(fleet.end())
            shutil.copy(folder / "killed.db", folder / "calm.db")
            events = story(shown, seed)
            for name in ("calm", "killed"):
                stream.fill(name, events)

            begin = time.monotonic()
            asyncio.run(fleet.begin())
            seen = Counter[str]()
            while seen["killed importers"] < kills:
                if not _one_life(stream.address("killed"), fleet, draw, seen):
                    break
            rest = imported(*stream.address("killed"), "--to", fleet.urls[0], folder=folder)
            again = imported(*stream.address("killed"), "--to", fleet.urls[0], folder=folder)
            seen["answers"] += answered(fleet.urls[0])
            seconds = time.monotonic() - begin
        finally:
            asyncio.run(fleet.end())
        calm_fleet = Fleet(folder, [*ARGUMENTS, "--store", "sqlite:calm.db"])
        asyncio.run(calm_fleet.begin())
        try:
            calm = imported(*stream.address("calm"), "--to", calm_fleet.urls[0], folder=folder)
            seen["answers"] -= answered(calm_fleet.urls[0])
        finally:
            asyncio.run(calm_fleet.end())
        refused = {name: _refusals(stream.refused(name)) for name in ("calm", "killed")}
    assert calm["events"] == len(events)
    assert again["events"] == 0, again
    difference = compare(folder / "calm.db", folder / "killed.db")
    assert set(refused["killed"]) == set(refused["calm"]), (
        refused["killed"] - refused["calm"],
        refused["calm"] - refused["killed"],
    )
    assert calm["refused"] == refused["calm"].total() > 0
    return {
        "events": len(events),
        "killed importers": seen["killed importers"],
        "killed services": seen["killed services"],
        "answers sent more often": seen["answers"],
        "events left after the last kill": rest["events"],
        "refused": refused["calm"].total(),
        "refusals written twice": refused["killed"].total() - refused["calm"].total(),
        "largest difference of a sum": difference,
        "seconds": round(seconds, 1),
    }


def _one_life(
    address: Sequence[str], fleet: Fleet, draw: random.Random, seen: Counter[str]
) -> bool:
    """Let an import begin, and kill it, perhaps after the service; False if it came to its end."""
    pace = ("--batch", "8", "--requests", "2")
    before = answered(fleet.urls[0])
    process = ForkedImport([*address, "--to", fleet.urls[0], *pace], fleet.folder)
    try:
        if draw.randrange(START_ONE_IN) > 0:
            while process.is_alive() and answered(fleet.urls[0]) == before:
                time.sleep(0.01)
        time.sleep(draw.uniform(0.0, MOMENT))
        if draw.randrange(SERVICE_ONE_IN) == 0:
            seen["answers"] += answered(fleet.urls[0])
            asyncio.run(fleet.kill(0))
            seen["killed services"] += 1
            time.sleep(draw.uniform(0.0, MOMENT))
        alive = process.is_alive()
    finally:
        process.kill()
    if alive:
        seen["killed importers"] += 1
    return alive


def _refusals(found: Sequence[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count refusals by what was refused, and why."""
    return Counter((json.dumps(one.get("event")), one["reason"]) for one in found)


def compare(calm: Path, killed: Path) -> float:
    """Compare two stores; return the largest difference of a sum of a user, relative to it."""
    left, right = (asyncio.run(_contents(path)) for path in (calm, killed))
    assert left["items"] == right["items"]
    assert left["exposure"] == right["exposure"]
    assert left["answers"] == right["answers"]
    worst = 0.0
    assert left["sums"].keys() == right["sums"].keys()
    for user, sums in left["sums"].items():
        off = np.abs(sums - right["sums"][user]).max()
        worst = max(worst, float(off / max(np.abs(sums).max(), 1.0)))
    assert worst < 1e-12, worst
    return worst


async def _contents(path: Path) -> dict[str, Any]:
    """Return everything that events change in a store."""
    service = Service(POLICY, SQLiteStore(path), dim=DIM)
    await service.start()
    try:
        users = [f"user-{n}" for n in range(1000)]
        records = {user: await service.store.user(user, impressions=10**6) for user in users}
        found = {user: record for user, record in records.items() if record is not None}
        counts = service.exposure.snapshot("all").counts
        catalogue = service.catalogue
        items = [catalogue.item(row) for row in range(len(catalogue))]
        return {
            "items": {i.id: (tuple(i.features), i.merit, dict(i.groups)) for i in items},
            "exposure": (counts.slates, counts.answers, counts.clicks),
            "sums": {user: record.sums for user, record in found.items()},
            "answers": {
                i.id: (i.clicked, i.examined) for r in found.values() for i in r.impressions
            },
        }
    finally:
        await service.stop()
