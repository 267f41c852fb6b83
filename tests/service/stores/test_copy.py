"""A copy of a store is the same store, of whatever kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade.policies import FRMLinUCB
from faircascade.service.bootstrap import start_service
from faircascade.service.messages import FeedbackRequest, ItemChange, RecommendationRequest
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.copy import copy_store, summary
from faircascade.service.stores.registry import store_at
from faircascade.service.stores.sqlite_contents import SQLiteContents
from faircascade.testing.stores import new_impression, new_update
from tests.service.postgresql_server import BINARIES, PostgreSQLServer
from tests.service.redis_server import REDIS, RedisServer
from tests.service.stores.memory_store import MemoryStore

KINDS = ("sqlite", "redis", "postgresql")
POLICY = FRMLinUCB(variant="exposure-charge")
"""One that keeps accounts."""
SETTINGS = ServiceSettings(cold_start=3)
TTL = SETTINGS.ttl
LABELS = [{}, {"device": "phone"}, {"country": "\u65e5*?[a] =:", "device": "phone"}]
USERS = ["ada", "bob", "日本 \U0001f3b5*?[a]", "user:x", "eve"]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes addresses of empty places."""
    numbers = iter(range(1, 10))

    def make(kind: str) -> str:
        number = next(numbers)
        if kind == "sqlite":
            return f"sqlite:{tmp_path / f'{number}.db'}"
        if kind == "redis":
            server: RedisServer = request.getfixturevalue("own_server")
            return server.url.removesuffix("/0") + f"/{number}"
        postgresql: PostgreSQLServer = request.getfixturevalue("own_postgresql")
        return postgresql.database(f"place_{number}")

    return make


PAIRS = [
    pytest.param(
        source,
        target,
        marks=[
            pytest.mark.skipif(
                "redis" in (source, target) and REDIS is None, reason="redis-server is missing"
            ),
            pytest.mark.skipif(
                "postgresql" in (source, target) and BINARIES is None,
                reason="postgresql is missing",
            ),
        ],
    )
    for source in KINDS
    for target in KINDS
]


async def made(address: str) -> Service:
    """Return a service on an empty store that has seen some life: its policy has accounts."""
    service = Service(POLICY, store_at(address, ttl=TTL), dim=3, settings=SETTINGS)
    await service.start()
    rng = np.random.default_rng(1)
    await service.put_items(
        [
            ItemChange(
                item=f"item {n}",
                features=rng.normal(size=3).tolist(),
                group=f"g\0{n % 2}",
                attributes={"price": n / 3, "tags": ["\0", "b"], "sold": n > 5},
            )
            for n in range(12)
        ]
    )
    await service.remove_item("item 3")
    await service.store.put_users(["from a log"], rng.normal(size=(1, 10)), np.array([7]))
    for _ in range(5):
        await answer(service, await ask(service))
    await service.exposure.catch_up(service.store)
    await service.exposure.keep(service.store)
    await answer(service, await ask(service))
    await service.store.set_meta("served", {"policy": {"name": "x"}, "seed": 3})
    return service


async def ask(service: Service) -> list[Any]:
    requests = [
        RecommendationRequest(user=user, k=4, user_labels=LABELS[n % 3])
        for n, user in enumerate([*USERS, "from a log"])
    ]
    return list(await service.recommend(requests))


async def answer(service: Service, slates: list[Any]) -> list[Any]:
    """Answer each slate in a way of its own, but the last one."""
    clicks: list[list[int]] = [[1], [], [2, 4], [3], [1, 2]]
    requests = [
        FeedbackRequest(impression_id=slate.impression_id, clicked_positions=clicked)
        for slate, clicked in zip(slates, clicks, strict=False)
    ]
    return list(await service.learn(requests))


def served(slates: list[Any]) -> list[Any]:
    return [slate.items for slate in slates]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_copy_hands_out_the_same_slates_and_learns_from_those_before(
    place: Callable[..., str], source: str, target: str
) -> None:
    async def story() -> None:
        one, two = place(source), place(target)
        service = await made(one)
        open_slates = await ask(service)
        known = [await service.user(user) for user in USERS]
        await service.stop()
        shares: list[float] = []
        counts = await copy_store(one, two, ttl=TTL, watch=lambda _, share: shares.append(share))
        assert (counts.items, counts.users, counts.impressions) == (12, 6, 7 * 6)
        assert counts.cohorts == 2
        assert shares == sorted(shares)
        assert shares[-1] <= 1.0
        assert (await summary(two, ttl=TTL)).counts == counts

        first = Service(POLICY, store_at(one, ttl=TTL), dim=3, settings=SETTINGS)
        second = Service(POLICY, store_at(two, ttl=TTL), dim=3, settings=SETTINGS)
        await first.start()
        await second.start()
        try:
            for user, before in zip(USERS, known, strict=True):
                after = await second.user(user)
                assert (after.rounds, after.count) == (before.rounds, before.count)
                np.testing.assert_array_equal(after.sums, before.sums)
                told = [[i.id for i in r.impressions] for r in (after, before)]
                assert told[0] == told[1]
                answers = [
                    [(i.clicked, i.examined) for i in r.impressions] for r in (after, before)
                ]
                assert answers[0] == answers[1]
            assert await second.store.get_meta("served") == await first.store.get_meta("served")
            for _ in range(3):
                receipts = [await answer(here, open_slates) for here in (first, second)]
                assert receipts[0] == receipts[1]
                new = [await ask(first), await ask(second)]
                assert served(new[0]) == served(new[1])
                await answer(first, new[0])
                await answer(second, new[1])
            items = [(await s.store.items())[1] for s in (first, second)]
            plain = [
                [(i.slot, i.id, i.removed, dict(i.groups), dict(i.attributes)) for i in some]
                for some in items
            ]
            assert plain[0] == plain[1]
            seen = []
            for here in (first, second):
                await here.exposure.catch_up(here.store)
                everything = here.exposure.snapshot("all").counts
                seen.append((everything.slates, everything.answers, everything.clicks))
                seen.append(everything.by_slot[0].tolist())
            assert seen[:2] == seen[2:]
        finally:
            await first.stop()
            await second.stop()

    asyncio.run(story())


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_copy_is_not_served_until_it_is_done_anew(
    place: Callable[..., str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        one, two = place("sqlite"), place(kind)
        await (await made(one)).stop()

        def stop(what: str, share: float) -> None:
            if what == "impressions":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await copy_store(one, two, ttl=TTL, watch=stop)
        with pytest.raises(ValueError, match=r"a copy from sqlite:.* was interrupted"):
            await start_service(two)
        with pytest.raises(ValueError, match="was interrupted"):
            await copy_store(two, place("sqlite"), ttl=TTL)
        assert (await summary(two, ttl=TTL)).unfinished
        counts = await copy_store(one, two, ttl=TTL)
        assert counts.users == 6
        assert not (await summary(two, ttl=TTL)).unfinished

    asyncio.run(story())


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_is_not_empty_is_not_copied_to(place: Callable[..., str], kind: str) -> None:
    async def story() -> None:
        one, two = place("sqlite"), place(kind)
        await (await made(one)).stop()
        await (await made(two)).stop()
        before = (await summary(two, ttl=TTL)).counts
        with pytest.raises(ValueError, match="holds a store already; copy to an empty place"):
            await copy_store(one, two, ttl=TTL)
        assert (await summary(two, ttl=TTL)).counts == before

    asyncio.run(story())


def test_there_must_be_something_to_copy(place: Callable[..., str]) -> None:
    with pytest.raises(ValueError, match="holds no store, so there is nothing to copy"):
        asyncio.run(copy_store(place("sqlite"), place("sqlite"), ttl=TTL))


def test_a_file_that_a_service_uses_is_not_copied(place: Callable[..., str]) -> None:
    async def story() -> None:
        one = place("sqlite")
        service = await made(one)
        with pytest.raises(ValueError, match="another service is using this store"):
            await copy_store(one, place("sqlite"), ttl=TTL)
        await service.stop()

    asyncio.run(story())


def test_a_copy_that_lost_something_is_refused(
    place: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        one, two = place("sqlite"), place("sqlite")
        await (await made(one)).stop()
        add = SQLiteContents.add_users

        async def add_less(self: Any, users: Any) -> Any:
            return await add(self, [replace(user, account={}) for user in users])

        monkeypatch.setattr(SQLiteContents, "add_users", add_less)
        with pytest.raises(ValueError, match="users differ after the copy"):
            await copy_store(one, two, ttl=TTL)
        with pytest.raises(ValueError, match="was interrupted"):
            await start_service(two)

    asyncio.run(story())


def test_a_store_without_contents_says_that_it_cannot_be_copied() -> None:
    with pytest.raises(ValueError, match=r"MemoryStore does not support copies"):
        MemoryStore().contents()


def test_a_copied_file_goes_on_with_ids_of_its_own(place: Callable[..., str]) -> None:
    async def story() -> None:
        one, two = place("sqlite"), place("sqlite")
        service = await made(one)
        await service.stop()
        await copy_store(one, two, ttl=TTL)
        copied = Service(POLICY, store_at(two, ttl=TTL), dim=3, settings=SETTINGS)
        await copied.start()
        store = copied.store
        try:
            shape = await store.stored_shape()
            assert shape is not None
            ids = await store.record(
                [new_impression("ada", round=100 + n) for n in range(3)], units=None
            )
            assert len(set(ids)) == 3
            found = [i for i in await store.impressions(ids) if i is not None]
            person = await copied.user("ada")
            assert [i.id for i in person.impressions[:3]] == ids[::-1]
            increments = np.ones(shape.sums)
            await store.learn([new_update(i, 1, increments=increments) for i in found])
        finally:
            await copied.stop()

    asyncio.run(story())
