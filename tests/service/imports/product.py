"""A product with a click stream: it asks a service for slates, and its events go elsewhere."""

from __future__ import annotations

import json
import random
import re
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.service.crashes import write_items

K = 5
ITEMS = 40
ARGUMENTS = ("--items", "items.parquet", "--weight", "log", "--gamma", "0.01")
_BATCH = 500
_ANSWERS = re.compile(r"^faircascade_answers_total(?:{.*})? (\S+)$", re.MULTILINE)


def show(url: str, slates: int, users: int, k: int = K) -> list[dict[str, Any]]:
    """Ask for slates and return them."""
    found: list[dict[str, Any]] = []
    with httpx.Client(base_url=url, timeout=60) as client:
        while len(found) < slates:
            asked = [
                {"user": f"user-{n % users}", "k": k}
                for n in range(len(found), min(slates, len(found) + _BATCH))
            ]
            answer = client.post("/v1/recommendations/batch", json={"requests": asked})
            answer.raise_for_status()
            found += [result["recommendation"] for result in answer.json()["results"]]
    return found


def answers(slates: Sequence[dict[str, Any]], seed: int = 0, k: int = K) -> list[dict[str, Any]]:
    """Return what users did with slates, in an order of its own."""
    draw = random.Random(seed)
    events = []
    for slate in slates:
        event: dict[str, Any] = {"type": "feedback", "impression_id": slate["impression_id"]}
        form = draw.randrange(4)
        if form == 0:
            event["clicked_position"] = draw.randint(1, k)
        elif form == 1:
            event["clicked_positions"] = sorted(draw.sample(range(1, k + 1), 2))
        elif form == 2:
            event["clicked_item"] = draw.choice(slate["items"])["item"]
        else:
            event["shown"] = draw.randint(1, k)
        events.append(event)
    draw.shuffle(events)
    return events


def answered(url: str) -> int:
    """Return how many answers a service counted since its start, whatever became of them."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return sum(int(float(count)) for count in _ANSWERS.findall(text))


def lines(events: Iterable[Any]) -> bytes:
    """Return events as a file has them; what is text stays as it is."""
    return b"".join(
        (event if isinstance(event, str) else json.dumps(event)).encode() + b"\n"
        for event in events
    )


def make_items(folder: Path) -> None:
    """Write a catalogue where the arguments of the service look for it."""
    write_items(folder / "items.parquet", ITEMS)
