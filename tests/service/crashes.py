"""Visitors who keep a service busy while it is killed, and who remember what they were told.

Afterwards the store must agree with them: each answer that was acknowledged was learned once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faircascade.client import AsyncClient, Impression, ServiceError, ServiceUnavailable
from faircascade.policies import Policy
from faircascade.service.service import Service
from faircascade.service.stores.base import Store
from faircascade.types import Feedback
from tests.service.redis_server import free_port
from tests.service.server_process import ServerProcess, start

DIM = 6
K = 5
PAUSE = 0.02


@dataclass
class Witness:
    """What visitors were told."""

    features: dict[str, np.ndarray]
    asked: int = 0
    """Slates that were asked for, with or without an answer."""
    slates: dict[str, Impression] = field(default_factory=dict)
    """Slates that were handed out."""
    answers: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    """What was acknowledged: clicked positions, and how many were learned from."""
    unshown: dict[str, int] = field(default_factory=dict)
    """How many positions of answered slates nobody saw, which count as exposure no more."""
    complaints: list[str] = field(default_factory=list)
    """What should never happen."""
    failures: int = 0
    """Requests that met a dead service."""

    def expected(self, policy: Policy) -> dict[str, np.ndarray]:
        """Replay what was acknowledged: the sums of every user."""
        sums: dict[str, np.ndarray] = {}
        for name, (clicked, examined) in self.answers.items():
            shown = self.slates[name]
            feedback = Feedback(
                items=np.array([shown.items]),
                features=np.stack([self.features[item] for item in shown.items])[None],
                clicks=np.isin(np.arange(1, len(shown.items) + 1), clicked)[None],
                shown=np.array([max(examined, *clicked, 0)]),
                topics=np.zeros((1, len(shown.items), 0)),
            )
            (update,) = policy.increments(feedback)
            sums[shown.user] = sums.get(shown.user, 0.0) + update
        return sums


def write_items(path: Path, items: int = 40, seed: int = 0) -> dict[str, np.ndarray]:
    """Write a catalogue and return its features by item."""
    rows = np.random.default_rng(seed).normal(size=(items, DIM)) / DIM**0.5
    names = [f"item-{n}" for n in range(items)]
    pq.write_table(pa.table({"item_id": names, "features": list(rows)}), path)
    return dict(zip(names, rows, strict=True))


@dataclass
class Fleet:
    """Services on one store, each on a port of its own that it keeps when it starts again."""

    folder: Path
    arguments: Sequence[str]
    size: int = 1
    ports: list[int] = field(default_factory=list)
    services: list[ServerProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ports = [free_port() for _ in range(self.size)]

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    def start(self, number: int) -> ServerProcess:
        """Start one and return when it answers."""
        service = start(*self.arguments, "--port", str(self.ports[number]), folder=self.folder)
        service.wait_until_ready()
        return service

    async def begin(self) -> None:
        """Start all of them."""
        self.services = [await asyncio.to_thread(self.start, number) for number in range(self.size)]

    async def kill(self, number: int) -> None:
        """kill -9, and start again."""
        await asyncio.to_thread(self.services[number].kill)
        self.services[number] = await asyncio.to_thread(self.start, number)

    async def end(self) -> None:
        """Stop all in peace."""
        for service in self.services:
            await asyncio.to_thread(service.terminate)


class Visitor:
    """Somebody who asks for slates and answers them, through whichever service is there."""

    def __init__(
        self, number: int, clients: Sequence[AsyncClient], witness: Witness, users: int
    ) -> None:
        self.clients = clients
        self.witness = witness
        self.users = users
        self.draw = random.Random(number)

    async def visit(self, over: asyncio.Event) -> None:
        """Go on until told to stop; what was begun is brought to an end."""
        while not over.is_set():
            user = f"user-{self.draw.randrange(self.users)}"
            self.witness.asked += 1
            try:
                shown = await self.client.recommend(user, k=K)
            except ServiceUnavailable:
                self.witness.failures += 1
                await asyncio.sleep(PAUSE)
                continue
            except ServiceError as error:
                self.witness.complaints.append(str(error))
                continue
            self.witness.slates[shown.id] = shown
            if self.draw.random() < 0.9:
                await self.answer(shown)

    @property
    def client(self) -> AsyncClient:
        return self.draw.choice(self.clients)

    async def answer(self, shown: Impression) -> None:
        """Send the same answer until it is acknowledged, and sometimes once more."""
        clicked = self.draw.sample(range(1, K + 1), self.draw.choice([0, 1, 1, 2]))
        seen = self.draw.choice([None, self.draw.randint(max(clicked, default=1), K)])
        told = 0
        while told < (2 if self.draw.random() < 0.1 else 1):
            try:
                receipt = await self.client.feedback(shown, clicked=clicked, shown=seen)
            except ServiceUnavailable:
                self.witness.failures += 1
                await asyncio.sleep(PAUSE)
            except ServiceError as error:
                self.witness.complaints.append(f"{shown.id}: {error}")
                return
            else:
                told += 1
                self.witness.answers[shown.id] = (receipt.clicked_positions, receipt.shown)
                self.witness.unshown[shown.id] = 0 if seen is None else K - seen


async def live_through(
    fleet: Fleet,
    witness: Witness,
    trouble: Callable[[], Awaitable[None]],
    *,
    visitors: int = 8,
    users: int = 30,
) -> None:
    """Let visitors come while there is trouble, until it is over."""
    await fleet.begin()
    over = asyncio.Event()
    clients = [AsyncClient(url, retries=0, timeout=10.0) for url in fleet.urls]
    crowd = [
        asyncio.create_task(Visitor(number, clients, witness, users).visit(over))
        for number in range(visitors)
    ]
    try:
        await trouble()
    finally:
        over.set()
        await asyncio.gather(*crowd)
        for client in clients:
            await client.close()
    await fleet.end()


async def check(store: Store, witness: Witness, policy: Policy) -> dict[str, float]:
    """Compare a store with what visitors were told; return how well it agrees."""
    assert not witness.complaints, witness.complaints[:3]
    service = Service(policy, store, dim=DIM)
    await service.start()
    worst = 0.0
    try:
        expected = witness.expected(policy)
        for user in {shown.user for shown in witness.slates.values()}:
            kept = (await service.user(user)).sums
            sums = expected.get(user, np.zeros_like(kept))
            assert np.allclose(kept, sums, rtol=1e-9, atol=1e-9), user
            worst = max(worst, float(np.abs(kept - sums).max() / max(np.abs(sums).max(), 1.0)))
        everything = service.exposure.snapshot("all").counts
        assert everything.answers == len(witness.answers)
        assert everything.clicks == sum(len(clicked) for clicked, _ in witness.answers.values())
        assert len(witness.slates) <= everything.slates <= witness.asked
        shown = K * everything.slates - sum(witness.unshown.values())
        assert everything.by_slot[0].sum() == shown
    finally:
        await service.stop()
    return {
        "slates": len(witness.slates),
        "answers": len(witness.answers),
        "requests that met a dead service": witness.failures,
        "largest difference of a sum": worst,
    }
