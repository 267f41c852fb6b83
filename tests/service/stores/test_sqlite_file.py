"""The file of the embedded store next to other programs."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from faircascade.service.stores import sqlite_file
from faircascade.service.stores.base import Store, StoreDown, StoreLost
from faircascade.service.stores.file_guard import FileGuard
from faircascade.service.stores.sqlite import SQLiteStore
from faircascade.service.stores.sqlite_file import SQLiteFile
from faircascade.testing.stores import SHAPE, hand_out, new_item, new_update, sums_of
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


def replace_file(path: Path) -> None:
    backup = path.with_name("backup.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM INTO ?", [str(backup)])
    backup.replace(path)


def remove_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def replace_index(path: Path) -> None:
    index = Path(f"{path}-shm")
    copy = Path(shutil.copy(index, f"{index}.copy"))
    copy.replace(index)


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (replace_file, "its file was replaced or removed"),
        (Path.unlink, "its file was replaced or removed"),
        (lambda path: path.rename(path.with_name("elsewhere.db")), "its file was replaced"),
        (lambda path: os.truncate(path, 0), "its file became smaller"),
        (lambda path: os.truncate(path, path.stat().st_size // 2), "its file became smaller"),
        (remove_log, "its write-ahead log .* was removed"),
        (replace_index, "its write-ahead log .* was removed"),
    ],
    ids=["replaced", "removed", "moved", "emptied", "cut", "without log", "index replaced"],
)
def test_a_file_that_is_not_at_its_path_any_more_is_refused_for_good(
    location: SQLiteLocation,
    change: Callable[[Path], None],
    advice: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        change(location.path)
        for call in (store.learn([new_update(shown)]), store.put_items([new_item("a")])):
            with pytest.raises(StoreLost, match=advice) as refused:
                await call
            assert str(location.path) not in refused.value.advice
        several = [store.ping(), store.erase("ada"), store.user("ada", impressions=1)]
        for error in await asyncio.gather(*several, return_exceptions=True):
            assert isinstance(error, StoreLost)

    location.tell(story)
    assert [record.getMessage() for record in caplog.records] == ["the store is lost"]


def test_what_is_acknowledged_is_in_the_file_at_the_path_at_that_time(
    location: SQLiteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file goes in the moment in which the answer is written to disk."""

    async def story(store: Any) -> None:
        (shown,) = await hand_out(store, "ada")
        checks = iter([None, location.path.unlink])
        check = FileGuard.check

        def check_and_remove(guard: FileGuard) -> None:
            if removing := next(checks, None):
                removing()
            check(guard)

        monkeypatch.setattr(FileGuard, "check", check_and_remove)
        with pytest.raises(StoreLost):
            await store.learn([new_update(shown)])

    location.tell(story)


async def is_there(store: Store) -> bool:
    try:
        await store.user("ada", impressions=1)
    except StoreLost:
        return False
    return True


def test_an_idle_service_notices_too(
    location: SQLiteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "TIDY_EVERY", 0.01)

    async def story(store: Store) -> None:
        await hand_out(store, "ada")
        location.path.unlink()
        async with asyncio.timeout(10):
            while await is_there(store):
                await asyncio.sleep(0)

    location.tell(story)


def test_closing_waits_for_a_checkpoint_under_way(
    location: SQLiteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = Event(), Event()
    pages: list[int] = []

    def slow(file: SQLiteFile) -> int:
        began.set()
        assert go_on.wait(10)
        pages.append(checkpoint(file))  # a closed connection raises, or crashes the process
        return pages[-1]

    checkpoint = SQLiteFile._checkpoint
    monkeypatch.setattr(sqlite_file, "TIDY_EVERY", 0.0)
    monkeypatch.setattr(SQLiteFile, "_checkpoint", slow)

    async def story() -> None:
        store = location.store()
        await store.open(SHAPE)
        await asyncio.to_thread(began.wait, 10)
        closing_store = asyncio.create_task(store.close())
        await asyncio.wait([closing_store], timeout=0.1)
        assert not closing_store.done()
        go_on.set()
        await closing_store

    asyncio.run(story())
    assert pages


def test_a_file_that_came_in_place_of_the_old_one_stays_as_it_is(location: SQLiteLocation) -> None:
    async def story(store: Store) -> None:
        await hand_out(store, "ada")
        replace_file(location.path)
        contents.append(location.path.read_bytes())
        for _ in range(20):
            with pytest.raises(StoreLost):
                await hand_out(store, "bob")

    contents: list[bytes] = []
    location.tell(story)
    assert location.path.read_bytes() == contents[0]


def test_what_was_in_a_removed_log_is_saved_when_the_store_closes(location: SQLiteLocation) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        await store.learn([new_update(shown)])
        remove_log(location.path)
        with pytest.raises(StoreLost):
            await store.ping()

    async def later(store: Store) -> None:
        assert (await sums_of(store, "ada")).tolist() == [1.0] * SHAPE.sums

    location.tell(story)
    location.tell(later)


@pytest.mark.parametrize("of", ["another file", "the same file"])
def test_a_log_that_a_crash_left_is_not_written_into_another_file(
    location: SQLiteLocation, tmp_path: Path, of: str
) -> None:
    async def begin(store: Store) -> None:
        await hand_out(store, "ada")

    async def write(store: Store) -> None:
        await hand_out(store, "ada", 20)
        await hand_out(store, "bob", 20)
        if of == "another file":
            replace_file(location.path)
        crashed.append(Path(f"{location.path}-wal").read_bytes())

    crashed: list[bytes] = []
    location.tell(begin)
    location.tell(write)
    Path(f"{location.path}-wal").write_bytes(crashed[0])
    if of == "the same file":
        location.tell(lambda store: sums_of(store, "bob"))
        return
    contents = location.path.read_bytes()
    for call in (location.store().stored_shape(), location.store().open(SHAPE)):
        with pytest.raises(ValueError, match=r"may be the log of another file.*remove"):
            asyncio.run(call)
    assert location.path.read_bytes() == contents
    Path(f"{location.path}-wal").unlink()
    location.tell(begin)


# one service


def link(path: Path) -> Path:
    name = path.with_name("link.db")
    name.symlink_to(path)
    return name


def folder_link(path: Path) -> Path:
    folder = path.parent / "folder"
    folder.symlink_to(path.parent, target_is_directory=True)
    return folder / path.name


def hard_link(path: Path) -> Path:
    folder = path.parent / "other"
    folder.mkdir()
    name = folder / "hard.db"
    name.hardlink_to(path)
    return name


@pytest.mark.parametrize(
    ("other_name", "message"),
    [
        (link, "another service is using this store"),
        (folder_link, "another service is using this store"),
        (hard_link, r"has 2 names \(hard links\).*remove the other names, or make copies"),
    ],
)
def test_a_second_service_is_refused_by_whatever_name(
    location: SQLiteLocation, other_name: Callable[[Path], Path], message: str
) -> None:
    async def story(store: Store) -> None:
        await hand_out(store, "ada")
        other = SQLiteStore(other_name(location.path))
        with pytest.raises(ValueError, match=message):
            await other.open(SHAPE)
        await hand_out(store, "ada")

    location.tell(story)


def test_a_link_to_a_file_can_be_used_until_it_leads_elsewhere(location: SQLiteLocation) -> None:
    location.tell(lambda store: store.ping())
    name = link(location.path)

    async def story() -> None:
        store = SQLiteStore(name)
        await store.open(SHAPE)
        await hand_out(store, "ada")
        name.unlink()
        name.symlink_to(location.path.with_name("another.db"))
        with pytest.raises(StoreLost):
            await hand_out(store, "ada")
        await store.close()

    asyncio.run(story())
