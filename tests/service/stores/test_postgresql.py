"""What PostgreSQL promises beyond the contract: several services, lost replies, crashes."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from faircascade.service.stores.base import Store, StoreDown, StoreLost, StoreUnsure, UpdateOutcome
from faircascade.service.stores.postgresql_schema import function
from faircascade.service.stores.registry import store_at
from faircascade.testing.stores import (
    SHAPE,
    all_events,
    hand_out,
    new_impression,
    new_item,
    new_update,
    sums_of,
)
from tests.service.postgresql_server import PostgreSQLServer, needs_postgresql
from tests.service.stores.locations import PostgreSQLLocation
from tests.service.stores.lossy_network import LossyPostgreSQL

asyncpg = pytest.importorskip("asyncpg")
pytestmark = needs_postgresql

HASTE = 1.5
"""Patience of stores whose server fails, in seconds."""


@asynccontextmanager
async def opened(place: PostgreSQLLocation, **options: Any) -> AsyncIterator[Any]:
    store = place.store(**options)
    await store.open(SHAPE)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def plain(place: PostgreSQLLocation) -> AsyncIterator[Any]:
    """The database without a store, to look behind it."""
    client = await asyncpg.connect(place.url, server_settings={"search_path": place.schema})
    try:
        yield client
    finally:
        await client.close()


async def all_fail(*calls: Awaitable[Any]) -> list[str]:
    """Check that the store is down for all of these, surely, and return what it says."""
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(error, StoreDown) for error in errors), errors
    assert not any(isinstance(error, StoreUnsure) for error in errors)
    return [str(error) for error in errors]


# several services


def test_services_that_learn_about_one_user_at_once_lose_and_double_nothing(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        place = postgresql_location
        async with opened(place) as one, opened(place) as two, opened(place) as three:
            shown = await hand_out(one, "ada", 60)
            calls = [
                store.learn([new_update(impression, increments=np.full(SHAPE.sums, float(n)))])
                for n, impression in enumerate(shown)
                for store in (one, two, three)
            ]
            outcomes = Counter(outcome for some in await asyncio.gather(*calls) for outcome in some)
            assert outcomes == {UpdateOutcome.LEARNED: 60, UpdateOutcome.REPEATED: 120}
            total = np.full(SHAPE.sums, float(sum(range(60))))
            np.testing.assert_array_equal(await sums_of(two, "ada"), total)
            assert len(await all_events(three)) == 120

    asyncio.run(story())


def test_services_that_change_the_same_users_in_any_order_never_lock_each_other_out(
    postgresql_location: PostgreSQLLocation,
) -> None:
    """Batches meet each other, erasures and expiry; PostgreSQL counts deadlocks."""
    users = [f"user {n}" for n in range(12)]

    async def busy(store: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for turn in range(25):
            some = [users[n] for n in rng.permutation(len(users))]
            rounds = (await store.begin_round(some, accounts=True)).rounds.tolist()
            slates = [new_impression(user, round=n) for user, n in zip(some, rounds, strict=True)]
            shown = await store.impressions(await store.record(slates, units=np.array([2, 1])))
            kept = [one for one in shown if one is not None]
            await store.learn([new_update(kept[n]) for n in rng.permutation(len(kept))])
            if turn % 5 == seed:
                await store.erase(some[0])
                await store.expire(kept[0].time)

    async def story() -> None:
        place = postgresql_location
        async with opened(place) as one, opened(place) as two, plain(place) as db:
            before = await db.fetchval("SELECT sum(deadlocks) FROM pg_stat_database")
            stores = zip(cycle([one, two]), range(5), strict=False)
            await asyncio.gather(*(busy(store, seed) for store, seed in stores))
            await asyncio.sleep(0.1)
            assert await db.fetchval("SELECT sum(deadlocks) FROM pg_stat_database") == before

    asyncio.run(story())


def test_services_that_recommend_to_one_user_at_once_number_the_slates_apart(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as one, opened(postgresql_location) as two:
            slates = await asyncio.gather(*(hand_out(s, "ada", 2) for s in (one, two) * 10))
            assert sorted(shown.round for some in slates for shown in some) == [*range(1, 41)]
            person = await two.user("ada", impressions=40)
            assert [shown.round for shown in person.impressions] == list(range(40, 0, -1))

    asyncio.run(story())


def test_services_that_add_items_at_once_share_the_slots(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as one, opened(postgresql_location) as two:
            puts = [s.put_items([new_item(f"i{n}")]) for n in range(30) for s in (one, two)]
            await asyncio.gather(*puts)
            assert [item.slot for item in (await one.items())[1]] == list(range(30))

    asyncio.run(story())


def test_services_that_change_an_item_at_once_lose_no_field(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as one, opened(postgresql_location) as two:
            fields: list[dict[str, Any]] = [{"merit": 2.0}, {"popularity": 3.0}]
            fields += [{"groups": {f"column {n}": f"label {n}"}} for n in range(40)]
            await one.put_items([new_item("a")])
            stores = zip(cycle([one, two]), fields, strict=False)
            await asyncio.gather(*(s.put_items([new_item("a", **values)]) for s, values in stores))
            (item,) = (await one.items())[1]
            assert (item.merit, item.popularity) == (2.0, 3.0)
            assert dict(item.groups) == {f"column {n}": f"label {n}" for n in range(40)}

    asyncio.run(story())


def test_services_that_remove_all_items_at_once_leave_one(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as one, opened(postgresql_location) as two:
            names = [f"i{n}" for n in range(20)]
            await one.put_items([new_item(name) for name in names])
            stores = zip(cycle([one, two]), names, strict=False)
            done = await asyncio.gather(*(store.remove_items([name]) for store, name in stores))
            assert Counter(done) == {True: 19, False: 1}

    asyncio.run(story())


def test_a_version_of_the_catalogue_is_not_seen_before_an_earlier_one(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as store, plain(postgresql_location) as db:
            await store.put_items([new_item("a")])
            first = db.transaction()
            await first.start()
            await db.execute("UPDATE store SET version = version + 1")
            second = asyncio.create_task(store.put_items([new_item("b")]))
            await asyncio.sleep(0.1)
            assert not second.done()  # it waits for the first
            assert await store.catalogue_version() == 1
            await first.commit()
            await second
            assert await store.catalogue_version() == 3

    asyncio.run(story())


def test_events_that_are_committed_late_are_not_skipped(
    postgresql_location: PostgreSQLLocation,
) -> None:
    """A slate gets its number, then another one is numbered and committed, then the first."""

    async def story() -> None:
        place = postgresql_location
        async with opened(place) as store, plain(place) as db:
            await hand_out(store, "ada")
            ((cursor, _),) = await store.events("", 10)
            late = db.transaction()
            await late.start()
            await db.execute(f"SELECT {function('announce_events')}()")
            await db.execute(
                "INSERT INTO events (time, answered, slots, note) VALUES (7, false, '', '')"
            )
            await hand_out(store, "bob")
            assert await store.events(cursor, 10) == []  # bob's comes after the late one
            await late.commit()
            found = [event.time for _, event in await store.events(cursor, 10)]
            assert found[0] == 7
            assert len(found) == 2

    asyncio.run(story())


def test_who_reads_events_while_others_write_gets_each_once_and_in_order(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def write(store: Any, user: str) -> None:
        for n in range(1, 61):
            await store.record([new_impression(user, (n,), round=n)] * 3, units=None)

    async def story() -> None:
        place = postgresql_location
        async with opened(place) as one, opened(place) as two:
            stores = zip(cycle([one, two]), "abcdefgh", strict=False)
            writing = [asyncio.create_task(write(store, user)) for store, user in stores]
            cursor, seen = "", []
            while True:
                over = all(task.done() for task in writing)
                some = await two.events(cursor, 50)
                seen += [name for name, _ in some]
                cursor = seen[-1] if seen else ""
                if over and not some:
                    break
            await asyncio.gather(*writing)
            assert len(seen) == 8 * 60 * 3
            assert list(map(int, seen)) == sorted(set(map(int, seen)))

    asyncio.run(story())


def test_who_announces_events_while_others_are_read_does_not_hide_them(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        place = postgresql_location
        async with opened(place) as store, plain(place) as db, db.transaction():
            await hand_out(store, "ada", 3)
            # As of somebody who announces events just after a reader read the last number.
            await db.execute(
                "SELECT pg_advisory_xact_lock_shared("
                "'event_numbers'::regclass::oid::bigint::bit(32)::int, (last_value + 5)::int) "
                "FROM event_numbers"
            )
            assert len(await store.events("", 10)) == 3

    asyncio.run(story())


def test_a_role_with_a_schema_of_its_own_needs_no_other_rights(
    postgresql_server: PostgreSQLServer,
) -> None:
    place = PostgreSQLLocation(postgresql_server.url)

    async def story() -> None:
        async with plain(place) as db:
            await db.execute(
                "CREATE ROLE shop LOGIN PASSWORD 'x'; "
                "ALTER ROLE shop SET default_transaction_isolation = 'serializable'; "
                f"CREATE SCHEMA {place.schema} AUTHORIZATION shop"
            )
            place.url = f"postgres://shop:x@127.0.0.1:{postgresql_server.port}/postgres"
            async with opened(place) as store:
                assert await store._db.value("SHOW transaction_isolation") == "read committed"
                assert len(await hand_out(store, "ada")) == 1
            other = PostgreSQLLocation(place.url)
            with pytest.raises(ValueError, match="permission denied for database"):
                await other.store().open(SHAPE)

    asyncio.run(story())


# lost replies and crashes


Lossy = Callable[..., None]


@pytest.fixture
def over_a_lossy_network(postgresql_server: PostgreSQLServer) -> Lossy:
    def tell(story: Callable[[Any, LossyPostgreSQL], Awaitable[None]], **options: Any) -> None:
        async def all_of_it() -> None:
            async with LossyPostgreSQL(postgresql_server.port) as network:
                url = postgresql_server.url.replace(
                    f":{postgresql_server.port}", f":{network.port}"
                )
                async with opened(PostgreSQLLocation(url), **options) as store:
                    await story(store, network)

        asyncio.run(all_of_it())

    return tell


def test_a_slate_whose_reply_was_lost_is_counted_once(over_a_lossy_network: Lossy) -> None:
    async def story(store: Any, network: LossyPostgreSQL) -> None:
        network.lose(2)
        slates = [new_impression("ada"), new_impression("bob")]
        ids = await store.record(slates, units=np.array([5, 3]))
        assert network.lost_all
        assert None not in await store.impressions(ids)
        assert len(await all_events(store)) == 2
        known = await store.begin_round(["ada", "bob"], accounts=True)
        assert known.accounts == [{0: 5, 1: 3}] * 2
        assert known.rounds.tolist() == [2, 2]

    over_a_lossy_network(story)


def test_a_slate_of_which_no_reply_comes_may_have_been_counted(over_a_lossy_network: Lossy) -> None:
    async def story(store: Any, network: LossyPostgreSQL) -> None:
        await hand_out(store, "eve")  # a connection asks once what the types of arrays are
        network.lose(10**6)
        with pytest.raises(StoreUnsure, match="may have been counted"):
            await store.record([new_impression("ada")], units=None)
        await all_fail(store.begin_round(["ada"]), store.put_items([new_item("a")]))
        network.lose(0)
        assert len(await all_events(store)) == 2

    over_a_lossy_network(story, patience=HASTE)


def test_feedback_whose_reply_was_lost_is_learned_once(over_a_lossy_network: Lossy) -> None:
    async def story(store: Any, network: LossyPostgreSQL) -> None:
        shown = await hand_out(store, "ada", 3)
        network.lose(2)
        outcomes = await store.learn([new_update(one) for one in shown])
        assert network.lost_all
        assert set(outcomes) == {UpdateOutcome.REPEATED}
        np.testing.assert_array_equal(await sums_of(store, "ada"), np.full(SHAPE.sums, 3.0))
        assert len(await all_events(store)) == 6

    over_a_lossy_network(story)


def test_other_calls_whose_reply_was_lost_do_no_harm(over_a_lossy_network: Lossy) -> None:
    async def story(store: Any, network: LossyPostgreSQL) -> None:
        first = await store.begin_round(["ada"])
        await store.record([new_impression("ada", round=int(first.rounds[0]))], units=None)
        for lost in range(1, 7):  # each statement of a transaction, and its commit
            network.lose(lost)
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


def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_crashes(
    own_postgresql: PostgreSQLServer,
) -> None:
    place = PostgreSQLLocation(own_postgresql.url)

    async def story() -> None:
        async with opened(place) as one, opened(place) as two:
            shown = await hand_out(one, "ada", 120)
            learned = 0
            crashed = asyncio.Event()

            async def learn(store: Any, some: list[Any]) -> None:
                nonlocal learned
                for impression in some:
                    await store.learn([new_update(impression)])
                    await store.record([new_impression("bob")], units=np.array([1, 1]))
                    learned += 1
                    if learned == 40:
                        crashed.set()

            async def crash() -> None:
                await crashed.wait()
                own_postgresql.kill()
                own_postgresql.start()

            parts = [(one, shown[0::4]), (two, shown[1::4]), (one, shown[2::4]), (two, shown[3::4])]
            await asyncio.gather(crash(), *(learn(*part) for part in parts))
            np.testing.assert_array_equal(await sums_of(one, "ada"), np.full(SHAPE.sums, 120.0))
            kinds = Counter(answered for _, _, answered in await all_events(two))
            assert kinds == {False: 240, True: 120}
            bob = await two.begin_round(["bob"], accounts=True)
            assert bob.accounts == [{0: 120, 1: 120}]

    asyncio.run(story())


def test_a_store_whose_server_is_away_says_so_and_goes_on_when_it_is_back(
    own_postgresql: PostgreSQLServer,
) -> None:
    async def story() -> None:
        place = PostgreSQLLocation(own_postgresql.url)
        async with opened(place, patience=HASTE) as store:
            shown = await hand_out(store, "ada", 2)
            own_postgresql.stop()
            for error in await all_fail(
                store.ping(),
                store.learn([new_update(one) for one in shown]),
                store.record([new_impression("ada")], units=None),
                store.put_items([new_item("a")]),
                store.events("", 10),
            ):
                assert "cannot be used now" in error
            own_postgresql.start()
            outcomes = await store.learn([new_update(one) for one in shown])
            assert outcomes == [UpdateOutcome.LEARNED] * 2
            assert len(await all_events(store)) == 4

    asyncio.run(story())


def test_a_restart_of_the_server_fails_no_call(own_postgresql: PostgreSQLServer) -> None:
    async def story() -> None:
        async with opened(PostgreSQLLocation(own_postgresql.url)) as store:
            shown = await hand_out(store, "ada", 20)
            calls = [asyncio.create_task(store.learn([new_update(one)])) for one in shown]
            await asyncio.sleep(0)
            await asyncio.to_thread(own_postgresql.stop)
            await asyncio.to_thread(own_postgresql.start)
            await asyncio.gather(*calls)
            np.testing.assert_array_equal(await sums_of(store, "ada"), np.full(SHAPE.sums, 20.0))

    asyncio.run(story())


def test_a_locked_table_counts_as_down(postgresql_location: PostgreSQLLocation) -> None:
    async def story() -> None:
        place = postgresql_location
        async with opened(place, patience=HASTE) as store, plain(place) as db:
            (shown,) = await hand_out(store, "ada")
            async with db.transaction():
                await db.execute("LOCK TABLE impressions")
                with pytest.raises(StoreDown, match="no answer in time"):
                    await store.learn([new_update(shown)])
            outcomes = await store.learn([new_update(shown)])
            assert outcomes[0] in (UpdateOutcome.LEARNED, UpdateOutcome.REPEATED)
            np.testing.assert_array_equal(await sums_of(store, "ada"), np.ones(SHAPE.sums))

    asyncio.run(story())


def test_a_server_that_refuses_to_write_counts_as_down_and_changes_nothing(
    own_postgresql: PostgreSQLServer,
) -> None:
    async def story() -> None:
        place = PostgreSQLLocation(own_postgresql.url)
        async with opened(place, patience=HASTE) as store, plain(place) as db:
            shown = await hand_out(store, "ada", 2)
            await db.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            await db.execute("SELECT pg_reload_conf()")
            await asyncio.sleep(0.3)
            for error in await all_fail(
                store.ping(),
                store.learn([new_update(one) for one in shown]),
                store.record([new_impression("ada")], units=None),
            ):
                assert "read-only" in error
            await db.execute("SET default_transaction_read_only = off")
            await db.execute("ALTER SYSTEM RESET default_transaction_read_only")
            await db.execute("SELECT pg_reload_conf()")
            await asyncio.sleep(0.3)
            assert len(await all_events(store)) == 2
            outcomes = await store.learn([new_update(one) for one in shown])
            assert outcomes == [UpdateOutcome.LEARNED] * 2

    asyncio.run(story())


def test_a_call_that_is_cancelled_leaves_the_connection_to_others(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as store:
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


# what may be opened, and what was lost


def test_an_address_without_a_database_is_refused_without_the_password() -> None:
    for address in (
        "postgresql://ada:secret@host",
        "postgres://ada:secret@host:5432/",
        "postgresql://ada:secret@host:port/db",
    ):
        with pytest.raises(ValueError, match="postgresql://USER:PASSWORD@HOST") as error:
            store_at(address, ttl=1.0)
        assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("se%3Acret%25@", "secret@"), "password authentication failed"),
        (("/postgres", "/nowhere"), 'database "nowhere" does not exist'),
    ],
)
def test_a_database_that_cannot_be_opened_is_told_without_the_password(
    postgresql_server: PostgreSQLServer, change: tuple[str, str], message: str
) -> None:
    store = PostgreSQLLocation(postgresql_server.url.replace(*change)).store()
    for call in (store.stored_shape, lambda: store.open(SHAPE)):
        with pytest.raises(ValueError, match=message) as error:
            asyncio.run(call())
        assert "cret" not in str(error.value)


def test_a_server_that_is_not_there_is_told_without_the_password(
    own_postgresql: PostgreSQLServer,
) -> None:
    own_postgresql.stop()
    store = PostgreSQLLocation(own_postgresql.url).store(patience=0.05)
    with pytest.raises(StoreDown) as error:
        asyncio.run(store.open(SHAPE))
    assert "cret" not in str(error.value)
    assert f"127.0.0.1:{own_postgresql.port}/postgres" in str(error.value)


def test_another_version_of_the_tables_is_refused(postgresql_location: PostgreSQLLocation) -> None:
    async def story() -> None:
        async with opened(postgresql_location), plain(postgresql_location) as db:
            await db.execute("UPDATE store SET format = 99")
            store = postgresql_location.store()
            message = "store version 99; this release reads version 4"
            with pytest.raises(ValueError, match=message):
                await store.stored_shape()
            with pytest.raises(ValueError, match=message):
                await store.open(SHAPE)

    asyncio.run(story())


@pytest.mark.parametrize(
    "disaster",
    [
        "DROP SCHEMA {schema} CASCADE",
        "TRUNCATE store, users, impressions, items, events, counts, meta, accounts",
        "UPDATE store SET id = 'another'",
    ],
    ids=["dropped", "emptied", "replaced"],
)
def test_a_database_that_was_emptied_refuses_everything_and_stays_empty(
    postgresql_location: PostgreSQLLocation, disaster: str
) -> None:
    async def story() -> None:
        place = postgresql_location
        async with opened(place) as store, plain(place) as db:
            (shown,) = await hand_out(store, "ada")
            await store.put_items([new_item("a"), new_item("b")])
            await db.execute(disaster.format(schema=place.schema))
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
                store.keep_counts("1", b"counts"),
                store.counts(),
                store.events("", 10),
                store.set_meta("a", 1),
                store.get_meta("a"),
                store.expire(0.0),
            ):
                assert "has lost its data" in error
            if "TRUNCATE" in disaster:
                for table in ("users", "impressions", "items", "meta"):
                    assert await db.fetchval(f"SELECT count(*) FROM {table}") == 0

    asyncio.run(story())


def test_a_database_that_was_dropped_is_lost(own_postgresql: PostgreSQLServer) -> None:
    async def story() -> None:
        place = PostgreSQLLocation(own_postgresql.url)
        async with plain(place) as db:
            await db.execute("CREATE DATABASE shop")
            place.url = place.url.replace("/postgres", "/shop")
            async with opened(place) as store:
                (shown,) = await hand_out(store, "ada")
                await db.execute("DROP DATABASE shop WITH (FORCE)")
                with pytest.raises(StoreLost):
                    await store.learn([new_update(shown)])
                with pytest.raises(StoreLost):
                    await store.begin_round(["ada"])

    asyncio.run(story())


def test_a_dump_that_is_restored_goes_on(postgresql_server: PostgreSQLServer) -> None:
    place = PostgreSQLLocation(postgresql_server.url)
    dump = str(postgresql_server.folder / "dump")

    async def story() -> None:
        async with opened(place) as store, plain(place) as db:
            await store.put_items([new_item("a")])
            shown = await hand_out(store, "ada", 3)
            await store.learn([new_update(shown[0])])
            use = postgresql_server.use
            await asyncio.to_thread(use, "pg_dump", "-Fc", "-n", place.schema, "-f", dump)
            await db.execute(f"DROP SCHEMA {place.schema} CASCADE")
            with pytest.raises(StoreLost):
                await store.learn([new_update(shown[1])])
            await asyncio.to_thread(use, "pg_restore", dump)
            assert await store.learn([new_update(shown[1])]) == [UpdateOutcome.LEARNED]
            assert len(await all_events(store)) == 5
            await store.put_items([new_item("b")])
            assert [item.slot for item in (await store.items())[1]] == [0, 1]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("setting", "warning"),
    [
        ({}, None),
        ({"fsync": "off"}, "power cut.*fsync off.*set fsync to on"),
        ({"full_page_writes": "off"}, "power cut.*full_page_writes off"),
    ],
)
def test_a_server_that_could_lose_feedback_is_warned_of(
    setting: dict[str, str], warning: str | None
) -> None:
    with PostgreSQLServer(**setting) as server:
        store = PostgreSQLLocation(server.url).store()

        async def story() -> None:
            await store.open(SHAPE)
            await store.close()

        asyncio.run(story())
        assert (store.durability is None) == (warning is None)
        assert warning is None or re.search(warning, store.durability)


def test_commits_wait_for_the_disk_even_if_the_server_would_not() -> None:
    with PostgreSQLServer(synchronous_commit="off") as server:

        async def story() -> None:
            async with opened(PostgreSQLLocation(server.url)) as store:
                assert store.durability is None
                assert await store._db.value("SHOW synchronous_commit") == "on"

        asyncio.run(story())


def test_arrays_of_another_shape_are_refused(postgresql_location: PostgreSQLLocation) -> None:
    async def story(store: Store) -> None:
        with pytest.raises(ValueError, match=r"shape \(3,\) here, got \(2,\)"):
            await store.put_items([new_item("b"), new_item("a", features=np.ones(2))])
        assert await store.items() == (0, [])

    postgresql_location.tell(story)


def test_counted_events_go_when_others_had_time_to_read_them(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as store, plain(postgresql_location) as db:
            await hand_out(store, "ada", 60)
            cursors = [cursor for cursor, _ in await store.events("", 100)]
            await db.execute("UPDATE events SET added = added - interval '1 hour'")
            await hand_out(store, "ada", 40)
            await store.keep_counts(cursors[29], b"half")
            assert len(await store.events("", 1_000)) == 70
            cursors = [cursor for cursor, _ in await store.events("", 1_000)]
            await store.keep_counts(cursors[-1], b"all")
            assert len(await store.events("", 1_000)) == 40  # counted, but new

    asyncio.run(story())


def test_nothing_personal_is_left_of_an_erased_user(
    postgresql_location: PostgreSQLLocation,
) -> None:
    async def story() -> None:
        async with opened(postgresql_location) as store, plain(postgresql_location) as db:
            shown = await hand_out(store, "Ada Lovelace", 3)
            slate = new_impression("Ada Lovelace", round=4)
            await store.record([slate], units=np.array([1, 1]))
            await store.learn([new_update(shown[0], 1)])
            await store.erase("Ada Lovelace")
            for table in ("users", "impressions", "accounts"):
                assert await db.fetchval(f"SELECT count(*) FROM {table}") == 0
            assert len(await all_events(store)) == 5

    asyncio.run(story())
