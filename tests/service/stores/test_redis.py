"""What only the shared store promises: several services, lost connections, Redis that crashes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from redis.asyncio import Redis

from faircascade.service.stores.base import Store, StoreDown, StoreLost, StoreUnsure, UpdateOutcome
from faircascade.service.stores.redis import MARGIN, RedisStore
from faircascade.testing.stores import (
    SHAPE,
    all_events,
    hand_out,
    new_impression,
    new_item,
    new_update,
    sums_of,
)
from tests.service.redis_server import RedisServer, needs_redis
from tests.service.stores.locations import DAY, RedisLocation
from tests.service.stores.lossy_network import LossyNetwork

pytestmark = needs_redis

HASTE = 1.5
"""Patience of stores whose Redis fails, in seconds."""


@asynccontextmanager
async def opened(place: RedisLocation, **options: Any) -> AsyncIterator[RedisStore]:
    store = place.store(**options)
    await store.open(SHAPE)
    try:
        yield store
    finally:
        await store.close()


async def all_fail(*calls: Awaitable[Any]) -> list[str]:
    """Check that the store is down for all of these, surely, and return what it says."""
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(error, StoreDown) for error in errors)
    assert not any(isinstance(error, StoreUnsure) for error in errors)
    return [str(error) for error in errors]


@asynccontextmanager
async def plain(url: str) -> AsyncIterator[Any]:
    """Redis without a store, to look behind it."""
    client = Redis.from_url(url)
    try:
        yield client
    finally:
        await client.aclose()


# several services


def test_services_that_learn_about_one_user_at_once_lose_and_double_nothing(
    redis_location: RedisLocation,
) -> None:
    async def story() -> None:
        async with (
            opened(redis_location) as one,
            opened(redis_location) as two,
            opened(redis_location) as three,
        ):
            shown = await hand_out(one, "ada", 60)
            calls = [
                store.learn([new_update(impression, increments=np.full(SHAPE.sums, float(n)))])
                for n, impression in enumerate(shown)
                for store in (one, two, three)
            ]
            outcomes = Counter(outcome for some in await asyncio.gather(*calls) for outcome in some)
            assert outcomes == {UpdateOutcome.LEARNED: 60, UpdateOutcome.REPEATED: 120}
            np.testing.assert_array_equal(
                await sums_of(two, "ada"), np.full(SHAPE.sums, sum(range(60)))
            )
            assert len(await all_events(three)) == 120

    asyncio.run(story())


def test_services_that_recommend_to_one_user_at_once_number_the_slates_apart(
    redis_location: RedisLocation,
) -> None:
    async def story() -> None:
        async with opened(redis_location) as one, opened(redis_location) as two:
            slates = await asyncio.gather(*(hand_out(s, "ada", 2) for s in (one, two) * 10))
            rounds = [shown.round for some in slates for shown in some]
            assert sorted(rounds) == list(range(1, 41))
            person = await two.user("ada", impressions=40)
            assert person is not None
            assert [shown.round for shown in person.impressions] == list(range(40, 0, -1))

    asyncio.run(story())


def test_services_that_add_items_at_once_share_the_slots(redis_location: RedisLocation) -> None:
    async def story() -> None:
        async with opened(redis_location) as one, opened(redis_location) as two:
            puts = [s.put_items([new_item(f"i{n}")]) for n in range(30) for s in (one, two)]
            await asyncio.gather(*puts)
            _, items = await one.items()
            assert [item.slot for item in items] == list(range(30))

    asyncio.run(story())


def test_services_that_change_an_item_at_once_lose_no_field(redis_location: RedisLocation) -> None:
    async def story() -> None:
        async with opened(redis_location) as one, opened(redis_location) as two:
            fields: list[dict[str, Any]] = [{"merit": 2.0}, {"popularity": 3.0}]
            fields += [{"groups": {f"column {n}": f"label {n}"}} for n in range(60)]
            fields += [{"groups": {"old": ""}}]
            await one.put_items([new_item("a", groups={"old": "x"})])
            await asyncio.gather(
                *(
                    store.put_items([new_item("a", **values)])
                    for store, values in zip(cycle([one, two]), fields, strict=False)
                )
            )
            (item,) = (await one.items())[1]
            assert (item.merit, item.popularity) == (2.0, 3.0)
            assert dict(item.groups) == {f"column {n}": f"label {n}" for n in range(60)}

    asyncio.run(story())


def test_services_that_remove_all_items_at_once_leave_one(redis_location: RedisLocation) -> None:
    async def story() -> None:
        async with opened(redis_location) as one, opened(redis_location) as two:
            names = [f"i{n}" for n in range(20)]
            await one.put_items([new_item(name) for name in names])
            done = await asyncio.gather(
                *(
                    store.remove_items([name])
                    for store, name in zip(cycle([one, two]), names, strict=False)
                )
            )
            assert Counter(done) == {True: 19, False: 1}
            _, items = await two.items()
            assert Counter(item.removed for item in items) == {True: 19, False: 1}

    asyncio.run(story())


def test_a_service_that_imports_again_takes_nothing_from_what_another_learned(
    redis_location: RedisLocation,
) -> None:
    users = [f"user {n}" for n in range(60)]
    imported = (users, np.full((60, SHAPE.sums), 10.0), np.full(60, 5))

    async def import_and_learn(store: RedisStore) -> None:
        await store.put_users(*imported)
        for user in users:
            (shown,) = await hand_out(store, user)
            await store.learn([new_update(shown)])

    async def story() -> None:
        async with opened(redis_location) as one, opened(redis_location) as two:
            learning = asyncio.create_task(import_and_learn(one))
            while not learning.done():
                await two.put_users(*imported)
            await learning
            await two.put_users(*imported)
            known = await two.begin_round(users)
            np.testing.assert_array_equal(known.sums, np.full((60, SHAPE.sums), 11.0))
            assert set(known.rounds.tolist()) == {7}

    asyncio.run(story())


def learn_in_a_process(url: str, prefix: str, ids: list[str]) -> None:
    async def story() -> None:
        store = RedisStore(url, prefix=prefix, ttl=DAY, patience=60.0)
        await store.open(SHAPE)
        for impression in await store.impressions(ids):
            assert impression is not None
            update = new_update(impression, increments=np.full(SHAPE.sums, float(impression.round)))
            await store.learn([update])
        await store.close()

    asyncio.run(story())


def test_two_processes_learn_each_lesson_once(redis_location: RedisLocation) -> None:
    ids: list[str] = []

    async def before(store: Store) -> None:
        ids.extend(shown.id for shown in await hand_out(store, "ada", 300))

    async def after(store: Store) -> None:
        np.testing.assert_array_equal(
            await sums_of(store, "ada"), np.full(SHAPE.sums, sum(range(1, 301)))
        )
        assert len(await all_events(store)) == 600

    redis_location.tell(before)
    spawn = multiprocessing.get_context("spawn")
    processes = [
        spawn.Process(
            target=learn_in_a_process, args=(redis_location.url, redis_location.prefix, some)
        )
        for some in (ids[:200], ids[100:])  # a hundred updates are for both
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0]
    redis_location.tell(after)


def test_stores_with_other_prefixes_see_nothing_of_each_other(redis_server: RedisServer) -> None:
    async def story() -> None:
        here, there = RedisLocation(redis_server.url), RedisLocation(redis_server.url)
        async with opened(here) as one, opened(there) as two:
            (shown,) = await hand_out(one, "ada")
            await one.put_items([new_item("a")])
            assert await two.impressions([shown.id]) == [None]
            assert await two.user("ada", impressions=1) is None
            assert await two.items() == (0, [])
            assert await all_events(two) == []

    asyncio.run(story())


# lost replies and crashes


Lossy = Callable[..., None]
"""Takes a story of a store and its network, and options of the store."""


@pytest.fixture
def over_a_lossy_network(redis_server: RedisServer) -> Lossy:
    def tell(story: Callable[[RedisStore, LossyNetwork], Awaitable[None]], **options: Any) -> None:
        async def all_of_it() -> None:
            async with (
                LossyNetwork(redis_server.port) as network,
                opened(RedisLocation(network.url), **options) as store,
            ):
                await story(store, network)

        asyncio.run(all_of_it())

    return tell


def test_a_slate_whose_reply_was_lost_is_counted_once(over_a_lossy_network: Lossy) -> None:
    async def story(store: RedisStore, network: LossyNetwork) -> None:
        network.lose(2)
        ids = await store.record(
            [new_impression("ada"), new_impression("bob")], units=np.array([5, 3])
        )
        assert network.lost_all
        assert None not in await store.impressions(ids)
        assert len(await all_events(store)) == 2
        known = await store.begin_round(["ada", "bob"], accounts=True)
        assert known.accounts == [{0: 5, 1: 3}] * 2
        assert known.rounds.tolist() == [2, 2]

    over_a_lossy_network(story)


def test_a_slate_of_which_no_reply_comes_may_have_been_counted(over_a_lossy_network: Lossy) -> None:
    async def story(store: RedisStore, network: LossyNetwork) -> None:
        network.lose(10**6)
        with pytest.raises(StoreUnsure, match="may have been counted"):
            await store.record([new_impression("ada")], units=None)
        await all_fail(store.begin_round(["ada"]), store.put_items([new_item("a")]))
        network.lose(0)
        assert len(await all_events(store)) == 1

    over_a_lossy_network(story, patience=HASTE)


def test_lists_of_which_a_part_was_counted_are_unsure(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with (
            opened(RedisLocation(own_server.url), patience=HASTE) as store,
            plain(own_server.url) as redis,
        ):
            call = store._call

            async def call_and_fill_up(*arguments: Any) -> list[Any]:
                replies = await call(*arguments)
                await redis.config_set("maxmemory", 1)
                return replies

            monkeypatch.setattr(store, "_call", call_and_fill_up)
            with pytest.raises(StoreUnsure):
                await store.record(
                    [new_impression("ada", round=n) for n in range(1, 700)], units=None
                )
            assert 0 < len(await all_events(store)) < 699

    asyncio.run(story())


def test_a_lesson_whose_reply_was_lost_is_learned_once(over_a_lossy_network: Lossy) -> None:
    async def story(store: RedisStore, network: LossyNetwork) -> None:
        shown = await hand_out(store, "ada", 3)
        network.lose(2)
        outcomes = await store.learn([new_update(one) for one in shown])
        assert network.lost_all
        assert set(outcomes) == {UpdateOutcome.REPEATED}
        np.testing.assert_array_equal(await sums_of(store, "ada"), np.full(SHAPE.sums, 3.0))
        assert len(await all_events(store)) == 6

    over_a_lossy_network(story)


def test_other_calls_whose_reply_was_lost_do_no_harm(over_a_lossy_network: Lossy) -> None:
    async def story(store: RedisStore, network: LossyNetwork) -> None:
        network.lose(1)
        first = await store.begin_round(["ada"])
        await store.record([new_impression("ada", round=int(first.rounds[0]))], units=None)
        network.lose(1)
        assert (await store.begin_round(["ada"])).rounds[0] > first.rounds[0]
        network.lose(1)
        await store.put_items([new_item("a"), new_item("b")])
        assert [item.slot for item in (await store.items())[1]] == [0, 1]
        network.lose(2)
        assert await store.remove_items(["a"])
        network.lose(1)
        assert not await store.remove_items(["b"])
        network.lose(2)
        assert await store.erase("ada")
        assert network.lost_all
        assert await store.user("ada", impressions=1) is None

    over_a_lossy_network(story)


def test_nothing_acknowledged_is_lost_or_doubled_when_redis_crashes(
    own_server: RedisServer,
) -> None:
    place = RedisLocation(own_server.url)

    async def story() -> None:
        async with opened(place) as one, opened(place) as two:
            shown = await hand_out(one, "ada", 120)
            learned = 0
            crashed = asyncio.Event()

            async def learn(store: RedisStore, some: list[Any]) -> None:
                nonlocal learned
                for impression in some:
                    await store.learn([new_update(impression)])
                    await store.record([new_impression("bob")], units=np.array([1, 1]))
                    learned += 1
                    if learned == 40:
                        crashed.set()

            async def crash() -> None:
                await crashed.wait()
                own_server.kill()
                own_server.start()

            parts = [(one, shown[0::4]), (two, shown[1::4]), (one, shown[2::4]), (two, shown[3::4])]
            await asyncio.gather(crash(), *(learn(*part) for part in parts))
            np.testing.assert_array_equal(await sums_of(one, "ada"), np.full(SHAPE.sums, 120.0))
            kinds = Counter(answered for _, _, answered in await all_events(two))
            assert kinds == {False: 240, True: 120}
            bob = await two.begin_round(["bob"], accounts=True)
            assert bob.accounts == [{0: 120, 1: 120}]

    asyncio.run(story())


def test_a_store_whose_redis_is_away_says_so_and_goes_on_when_it_is_back(
    own_server: RedisServer,
) -> None:
    place = RedisLocation(own_server.url)

    async def story() -> None:
        async with opened(place, patience=HASTE) as store:
            (shown,) = await hand_out(store, "ada")
            await store.learn([new_update(shown)])
            own_server.kill()
            await all_fail(store.ping())  # now it knows that its connection is broken
            errors = await all_fail(
                store.begin_round(["ada"]),
                store.learn([new_update(shown)]),
                store.record([new_impression("ada", round=2)], units=None),
            )
            assert all(f"redis at 127.0.0.1:{own_server.port}" in error for error in errors)
            own_server.start()
            await store.ping()
            assert await store.learn([new_update(shown)]) == [UpdateOutcome.REPEATED]
            assert len(await all_events(store)) == 2

    asyncio.run(story())


def test_a_silent_redis_is_not_waited_for_longer_than_patience(own_server: RedisServer) -> None:
    place = RedisLocation(own_server.url)

    async def story() -> None:
        async with opened(place, patience=HASTE) as store:
            (shown,) = await hand_out(store, "ada")
            os.kill(own_server.pid, signal.SIGSTOP)
            try:
                with pytest.raises(StoreUnsure):  # sent over the connection that there was
                    await store.record([new_impression("ada", round=2)], units=None)
                (error,) = await all_fail(store.learn([new_update(shown)]))
            finally:
                os.kill(own_server.pid, signal.SIGCONT)
            assert "no answer in time" in error
            await store.learn([new_update(shown)])  # those sent before arrive as well
            np.testing.assert_array_equal(await sums_of(store, "ada"), np.ones(SHAPE.sums))

    asyncio.run(story())


@pytest.mark.parametrize(
    ("refuse", "allow"),
    [
        (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]),
        (["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]),
        (
            ["CONFIG", "SET", "min-replicas-to-write", "1"],
            ["CONFIG", "SET", "min-replicas-to-write", "0"],
        ),
    ],
    ids=["full", "read-only", "without replicas"],
)
def test_a_redis_that_refuses_to_write_counts_as_down_and_changes_nothing(
    own_server: RedisServer, refuse: list[str], allow: list[str]
) -> None:
    place = RedisLocation(own_server.url)

    async def story() -> None:
        async with opened(place, patience=HASTE) as store, plain(own_server.url) as redis:
            shown = await hand_out(store, "ada", 2)
            await redis.execute_command(*refuse)
            await all_fail(
                store.ping(),
                store.learn([new_update(one) for one in shown]),
                store.record([new_impression("ada")], units=None),
                store.put_items([new_item("a")]),
            )
            await redis.execute_command(*allow)
            assert len(await all_events(store)) == 2
            assert (
                await store.learn([new_update(one) for one in shown]) == [UpdateOutcome.LEARNED] * 2
            )
            assert await store.items() == (0, [])

    asyncio.run(story())


def test_scripts_that_redis_forgot_are_sent_again(redis_location: RedisLocation) -> None:
    async def story() -> None:
        async with opened(redis_location) as store, plain(redis_location.url) as redis:
            for _ in range(2):
                shown = await hand_out(store, "ada", 3)
                await redis.script_flush()
                outcomes = await store.learn([new_update(one) for one in shown])
                assert outcomes == [UpdateOutcome.LEARNED] * 3

    asyncio.run(story())


def test_an_error_does_not_tell_the_password(own_server: RedisServer) -> None:
    url = own_server.url.replace("//", "//:secret@")
    own_server.stop()
    store = RedisStore(url, ttl=DAY, patience=0.05)
    with pytest.raises(StoreDown) as error:
        asyncio.run(store.open(SHAPE))
    assert "secret" not in str(error.value)


def test_a_call_that_is_cancelled_leaves_the_connection_to_others(
    redis_location: RedisLocation,
) -> None:
    async def story() -> None:
        async with opened(redis_location) as store:
            shown = await hand_out(store, "ada", 50)
            calls = [asyncio.create_task(store.learn([new_update(one)])) for one in shown]
            for turn, call in enumerate(calls):
                await asyncio.sleep(0)
                if turn % 2:
                    call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.gather(*(store.learn([new_update(one)]) for one in shown))
            np.testing.assert_array_equal(await sums_of(store, "ada"), np.full(SHAPE.sums, 50.0))

    asyncio.run(story())


# what is kept, and for how long


def test_impressions_expire_by_themselves_and_what_was_learned_stays(
    redis_location: RedisLocation,
) -> None:
    async def story() -> None:
        async with opened(redis_location, ttl=1_000) as store, plain(redis_location.url) as redis:
            (shown,) = await hand_out(store, "ada")
            await store.record([new_impression("ada", round=2)], units=np.array([1, 1]))
            await store.learn([new_update(shown)])
            lives: dict[str, list[int]] = defaultdict(list)
            async for key in redis.scan_iter(f"{redis_location.prefix}:*"):
                lives[key.decode().split(":")[1]].append(await redis.ttl(key))
            lasting = {"shape", "user", "account", "events"}
            assert {kind for kind, all_lives in lives.items() if all_lives == [-1]} == lasting
            passing = lives["impression"] + lives["shown"]
            assert len(passing) == 3
            assert all(1_000 + MARGIN - 60 < life <= 1_000 + MARGIN for life in passing)
            assert await store.expire(time.time()) == 0

    asyncio.run(story())


def test_where_changes_are_logged_a_slate_lives_until_it_is_answered_or_expires(
    redis_location: RedisLocation,
) -> None:
    async def story() -> None:
        async with opened(redis_location, ttl=1_000) as store, plain(redis_location.url) as redis:
            store.log_changes(True)
            answered, waiting = await hand_out(store, "ada", 2)
            await store.learn([new_update(answered)])
            keys = [f"{redis_location.prefix}:impression:{one.id}" for one in (answered, waiting)]
            usual, long = [await redis.ttl(key) for key in keys]
            assert 1_000 + MARGIN - 60 < usual <= 1_000 + MARGIN
            assert long > 7 * 24 * 3600
            assert await redis.zcard(f"{redis_location.prefix}:open") == 1
            assert await store.expire(waiting.time + 1) == 1
            assert await redis.exists(keys[1], f"{redis_location.prefix}:open") == 0
            assert await redis.exists(keys[0]) == 1

    asyncio.run(story())


def test_the_index_of_a_user_forgets_what_expired(redis_location: RedisLocation) -> None:
    async def story() -> None:
        async with opened(redis_location) as store, plain(redis_location.url) as redis:
            shown = await hand_out(store, "ada", 20)
            expired = [f"{redis_location.prefix}:impression:{one.id}" for one in shown[:12]]
            await redis.delete(*expired)
            await hand_out(store, "ada", 4)  # each of these lets two go
            assert await redis.zcard(f"{redis_location.prefix}:shown:ada") == 24 - 8
            person = await store.user("ada", impressions=5)
            assert person is not None
            assert (person.count, len(person.impressions)) == (12, 5)
            assert await redis.zcard(f"{redis_location.prefix}:shown:ada") == 12

    asyncio.run(story())


def test_nothing_personal_is_left_of_an_erased_user(redis_location: RedisLocation) -> None:
    async def contents(redis: Any) -> dict[bytes, bytes]:
        keys = [key async for key in redis.scan_iter(f"{redis_location.prefix}:*")]
        return {key: await redis.dump(key) for key in keys}

    async def story() -> None:
        async with opened(redis_location) as store, plain(redis_location.url) as redis:
            await store.put_items([new_item("a")])
            shown = await hand_out(store, "Ada Lovelace", 3)
            await store.record([new_impression("Ada Lovelace", round=4)], units=np.array([1, 1]))
            await store.learn([new_update(shown[0], 1)])
            assert any(b"Lovelace" in key for key in await contents(redis))
            await store.erase("Ada Lovelace")
            left = await contents(redis)
            kinds = {key.decode().split(":")[1] for key in left}
            assert kinds == {"shape", "items", "changed", "version", "live", "events"}
            assert not any(b"Lovelace" in key + value for key, value in left.items())

    asyncio.run(story())


def test_events_go_when_they_are_counted_and_others_had_time_to_read_them(
    redis_location: RedisLocation,
) -> None:
    async def story() -> None:
        async with opened(redis_location) as store, plain(redis_location.url) as redis:
            stream = f"{redis_location.prefix}:events"
            old = round((time.time() - 3600) * 1000)
            await hand_out(store, "ada")
            ((_, event),) = await redis.xrange(stream)
            await redis.delete(stream)
            for n in range(1_000):
                await redis.xadd(stream, event, id=f"{old}-{n}")
            await hand_out(store, "ada", 400)
            cursors = [cursor for cursor, _ in await store.events("", 2_000)]
            assert len(cursors) == 1_400
            await store.keep_counts(cursors[499], b"those of the first half hour")
            left = [cursor for cursor, _ in await store.events("", 2_000)]
            assert 900 <= len(left) <= 1_001  # Redis drops them a hundred at a time
            assert left == cursors[-len(left) :]
            await store.keep_counts(cursors[-1], b"all")
            left = [cursor for cursor, _ in await store.events("", 2_000)]
            assert 400 <= len(left) <= 500  # covered, but new
            assert left == cursors[-len(left) :]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({}, None),
        ({"appendfsync": "everysec"}, "seconds of feedback.*appendfsync everysec"),
        ({"appendonly": "no"}, "minutes of feedback.*appendonly no"),
        (
            {"maxmemory": "1gb", "maxmemory-policy": "allkeys-lru"},
            "memory is full.*allkeys-lru",
        ),
    ],
)
def test_a_redis_that_could_lose_feedback_is_warned_of(
    own_server: RedisServer, settings: dict[str, str], warning: str | None
) -> None:
    async def story() -> str | None:
        async with plain(own_server.url) as redis:
            for name, value in settings.items():
                await redis.config_set(name, value)
        async with opened(RedisLocation(own_server.url)) as store:
            return store.durability

    found = asyncio.run(story())
    if warning is None:
        assert found is None
    else:
        assert found is not None
        assert re.search(warning, found)


def test_a_redis_that_does_not_tell_its_settings_is_not_warned_of(own_server: RedisServer) -> None:
    async def story() -> None:
        async with plain(own_server.url) as redis:
            await redis.acl_setuser(
                "service", enabled=True, nopass=True, keys=["*"], categories=["+@all", "-@admin"]
            )
        place = RedisLocation(own_server.url.replace("//", "//service:any@"))
        async with opened(place) as store:
            assert store.durability is None
            assert len(await hand_out(store, "ada")) == 1

    asyncio.run(story())


@pytest.mark.parametrize("options", [{"ttl": 0.0}, {"ttl": 1.0, "patience": -1.0}])
def test_times_must_be_positive(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be positive, got"):
        RedisStore("redis://127.0.0.1", **options)


def test_arrays_of_another_shape_are_refused(redis_location: RedisLocation) -> None:
    async def story(store: Store) -> None:
        with pytest.raises(ValueError, match=r"shape \(3,\) here, got \(2,\)"):
            await store.put_items([new_item("b"), new_item("a", features=np.ones(2))])
        assert await store.items() == (0, [])

    redis_location.tell(story)


def test_a_redis_that_was_emptied_refuses_everything_and_stays_empty(
    own_server: RedisServer,
) -> None:
    async def story() -> None:
        async with opened(RedisLocation(own_server.url)) as store, plain(own_server.url) as redis:
            (shown,) = await hand_out(store, "ada")
            await store.put_items([new_item("a"), new_item("b")])
            await redis.flushall()
            for error in await all_fail(
                store.ping(),
                store.begin_round(["ada"]),
                store.record([new_impression("ada")], units=None),
                store.impressions([shown.id]),
                store.learn([new_update(shown)]),
                store.put_items([new_item("c")]),
                store.remove_items(["a"]),
                store.items(),
                store.catalogue_version(),
                store.user("ada", impressions=1),
                store.erase("ada"),
                store.put_users(["bob"], np.ones((1, SHAPE.sums)), np.array([1])),
                store.keep_counts("1-1", b"counts"),
                store.counts(),
                store.events("", 10),
                store.set_meta("a", 1),
                store.get_meta("a"),
            ):
                assert "has lost its data" in error
            left = [key.decode().split(":")[1] for key in await redis.keys()]
            assert set(left) <= {"user"}  # whose slates were numbered, and nothing else

    asyncio.run(story())


def test_what_a_redis_was_emptied_of_can_be_restored(own_server: RedisServer) -> None:
    async def story() -> None:
        place = RedisLocation(own_server.url)
        async with opened(place) as store, plain(own_server.url) as redis:
            (shown,) = await hand_out(store, "ada")
            backup = {key: await redis.dump(key) for key in await redis.keys()}
            await redis.flushall()
            with pytest.raises(StoreLost) as refused:
                await store.learn([new_update(shown)])
            assert refused.value.advice == "has lost its data; restore it, then restart the service"
            for key, value in backup.items():
                await redis.restore(key, 0, value)
            assert await store.learn([new_update(shown)]) == [UpdateOutcome.LEARNED]

    asyncio.run(story())
