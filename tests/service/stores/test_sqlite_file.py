"""The file of the embedded store next to other programs."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from faircascade.service.stores import sqlite_file
from faircascade.service.stores.base import Store, StoreDown
from faircascade.testing.stores import SHAPE, hand_out, new_update
from tests.service.stores.locations import SQLiteLocation


@pytest.fixture
def location(tmp_path: Path) -> SQLiteLocation:
    return SQLiteLocation(tmp_path)


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the write lock as another program does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def still_waits(*calls: asyncio.Task[Any]) -> bool:
    """Return whether the event loop goes round while calls wait."""
    for _ in range(100):
        await asyncio.sleep(0)
    return not any(call.done() for call in calls)


def test_who_waits_for_a_locked_file_holds_up_nobody_and_goes_on_when_it_is_free(
    location: SQLiteLocation,
) -> None:
    async def story(store: Store) -> None:
        shown = await hand_out(store, "ada", 3)
        with locked(location.path) as other:
            calls = [asyncio.create_task(store.learn([new_update(one)])) for one in shown]
            assert await still_waits(*calls)
            assert None not in await store.impressions([one.id for one in shown])
            other.execute("COMMIT")
            await asyncio.gather(*calls)
        assert (await sums_of(store, "ada")).tolist() == [3.0] * SHAPE.sums

    location.tell(story)


def test_a_file_that_stays_locked_is_refused(
    location: SQLiteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "PATIENCE", 0.0)

    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        with locked(location.path):
            for call in (store.ping(), store.learn([new_update(shown)]), store.erase("ada")):
                with pytest.raises(StoreDown, match="another program locks it for over 0 s"):
                    await call
        await store.learn([new_update(shown)])

    location.tell(story)


RECOVERY = """
import fcntl, os, sys
index = os.open(sys.argv[1], os.O_RDWR)
for byte in (120, 122):  # to write, to recover
    fcntl.lockf(index, fcntl.LOCK_EX, 1, byte)
os.pwrite(index, bytes(96), 0)  # as a program leaves it that died while it wrote
print("begun", flush=True)
sys.stdin.read()
"""


@contextmanager
def recovering(path: Path) -> Iterator[None]:
    """Hold the locks that another program holds while it recovers the index of the log."""
    command = [sys.executable, "-c", RECOVERY, f"{path}-shm"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            yield
        finally:
            other.communicate(b"")


def test_a_recovery_by_another_program_holds_up_nobody(
    location: SQLiteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        with recovering(location.path):
            reading = asyncio.create_task(store.impressions([shown.id]))
            assert await still_waits(reading)
            monkeypatch.setattr(sqlite_file, "PATIENCE", 0.0)
            with pytest.raises(StoreDown, match="another program locks it"):
                await store.user("ada", impressions=1)
        assert (await reading)[0] is not None

    location.tell(story)


def test_of_jobs_that_are_written_together_only_the_one_that_fails_is_refused(
    location: SQLiteLocation,
) -> None:
    async def story(store: Any) -> None:
        def wrong(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO meta VALUES ('wrong', '1')")
            db.execute("INSERT INTO nowhere VALUES (1)")

        calls = [store.set_meta("a", 1), store._file.write(wrong), store.set_meta("b", 2)]
        first, refused, last = await asyncio.gather(*calls, return_exceptions=True)
        assert (first, last) == (None, None)
        assert isinstance(refused, StoreDown)
        found = [await store.get_meta(name) for name in ("a", "wrong", "b")]
        assert found == [1, None, 2]

    location.tell(story)


def test_a_file_that_is_locked_at_the_start_holds_up_nobody(
    location: SQLiteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        with closing(sqlite3.connect(location.path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with monkeypatch.context() as patch:
                patch.setattr(sqlite_file, "PATIENCE", 0.0)
                with pytest.raises(ValueError, match=r"cannot be opened as a store .*locked"):
                    await location.store().open(SHAPE)
            store = location.store()
            opening = asyncio.create_task(store.open(SHAPE))
            assert await still_waits(opening)
            other.execute("COMMIT")
            await opening
            await store.close()

    asyncio.run(story())
