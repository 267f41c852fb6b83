"""The event log of a service has each change once, whatever happens to whoever writes it."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import faircascade as fc
from faircascade.service.event_log.end import end_log
from faircascade.service.event_log.folder import LogFolder, journal_files
from faircascade.service.event_log.formats import TableFile
from faircascade.service.event_log.rebuild import latest_log, rebuild_store
from faircascade.service.event_log.rotation import Rotation
from faircascade.service.event_log.segment import Segment, pieces_of
from faircascade.service.event_log.writer import LogStopped, LogWriter
from faircascade.service.messages import FeedbackRequest, RecommendationRequest
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown
from faircascade.service.stores.copy import copy_store
from faircascade.service.stores.registry import store_at
from tests.service.event_log.histories import SETTINGS, START, TTL, History, held

EVERYTHING = Rotation(seconds=0.0)
"""Whole files after each step."""


class Shop:
    """A service on a file, and writers of its log."""

    def __init__(self, folder: Path, history: History) -> None:
        self.path = folder / "log"
        self.history = history
        self.service = history.one

    @property
    def now(self) -> float:
        return self.history.now

    def writer(self, path: Path | None = None, **options: Any) -> LogWriter:
        folder = LogFolder(path or self.path, **options)
        return LogWriter(self.service, folder, EVERYTHING, followed=0.0)

    async def started(self, path: Path | None = None, **options: Any) -> LogWriter:
        writer = self.writer(path, **options)
        assert await writer.start()
        return writer

    async def visit(self, count: int = 3, *, answers: bool = True) -> list[str]:
        """Show slates and have them answered; return their ids."""
        requests = [RecommendationRequest(user=f"user {n}", k=3) for n in range(count)]
        shown: list[Any] = list(await self.service.recommend(requests))
        if answers:
            await self.service.learn(
                [FeedbackRequest(impression_id=one.impression_id, clicked_positions=[1, 3])
                 for one in shown]
            )  # fmt: skip
        return [one.impression_id for one in shown]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'store.db'}"


@asynccontextmanager
async def shop(tmp_path: Path, address: str) -> AsyncIterator[Shop]:
    history = History(address, tmp_path / "log", 0)
    await history.begin(logged=False)
    try:
        yield Shop(tmp_path, history)
    finally:
        await history.one.stop()


def told(path: Path, kind: str = "shown") -> Counter[str]:
    """Return how often a journal tells of each slate."""
    files = latest_log(journal_files(path), path)
    records = [record for file in files for record in file.read()]
    return Counter(record["impression"] for record in records if record["kind"] == kind)


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of whole files."""
    files = sorted(path.glob("impressions-*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_a_row_says_what_was_shown_and_clicked(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            (name,) = await here.visit(1, answers=False)
            slate = (await here.service.store.impressions([name]))[0]
            assert slate is not None
            await here.service.learn(
                [FeedbackRequest(impression_id=name, clicked_positions=[1, 2], shown=2)]
            )
            await writer.step()
            (row,) = rows(here.path)
            assert row["impression"] == name
            assert row["items"] == list(here.service.catalogue.names(slate.slots))
            assert (row["clicked_positions"], row["shown"], row["answered"]) == ([1, 2], 2, True)
            assert row["policy"] == here.service.policy.label
            assert row["policy_version"] == here.service.version
            assert len(row["scores"]) == 3
            await writer.stop()

    asyncio.run(story())
    log = fc.Log(tmp_path / "log")
    assert log.read().clicks.tolist() == [[True, True, False]]


def test_slates_that_nobody_answered_have_a_row_when_their_time_is_over(
    tmp_path: Path, address: str
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            answered = await here.visit(2)
            unanswered = await here.visit(3, answers=False)
            here.history.now += TTL / 2
            later = await here.visit(2, answers=False)
            await writer.step()
            assert {row["impression"] for row in rows(here.path)} == set(answered)
            while await here.service.store.expire(START + 1):
                pass
            await writer.step()
            found = {row["impression"]: row["answered"] for row in rows(here.path)}
            assert found == dict.fromkeys(answered, True) | dict.fromkeys(unanswered, False)
            await writer.stop()
        again = f"sqlite:{tmp_path / 'again.db'}"
        await rebuild_store(here.path, again)
        assert (await held(again))["slates"].keys() >= set(later)
        assert not (await held(again))["slates"].keys() & set(unanswered)

    asyncio.run(story())


def test_json_lines_say_the_same_as_parquet(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started(format="jsonl")
            await here.visit(4)
            await here.service.store.erase("user 1")
            await writer.stop()
        assert not list(here.path.rglob("*.parquet"))
        await rebuild_store(here.path, f"sqlite:{tmp_path / 'again.db'}")
        assert await held(f"sqlite:{tmp_path / 'again.db'}") == await held(address)
        assert len(fc.Log(here.path).read().clicks) == 4

    asyncio.run(story())


def test_what_is_cut_short_at_the_end_of_a_file_is_dropped(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = here.writer()
            writer._rotation = Rotation()
            assert await writer.start()
            for _ in range(3):
                await here.visit(2)
                await writer.step()
            writer._folder.unlock()

    asyncio.run(story())
    (path,) = (tmp_path / "log" / "journal").glob("*.open")
    whole, ends = path.read_bytes(), []
    pieces = [piece.head["cursor"] for piece in pieces_of(path)]
    for cut in range(0, len(whole), 997):
        path.write_bytes(whole[:cut])
        found = [piece.head["cursor"] for piece in pieces_of(path)]
        assert found == pieces[: len(found)]
        ends.append(len(found))
        segment = Segment(path)
        assert segment.size <= cut
        segment.close()
        assert path.stat().st_size == segment.size
    assert ends == sorted(ends)
    assert set(ends) == {0, 1, 2}
    garbled = bytearray(whole)
    garbled[-100] ^= 1
    path.write_bytes(garbled)
    assert [piece.head["cursor"] for piece in pieces_of(path)] == pieces[:2]


class Killed(BaseException):
    """The process ended here."""


def _kill_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, instead: bool) -> None:
    """Let a process end in place of a call, or right after it."""
    original = getattr(owner, name)

    def call(*given: Any, **named: Any) -> Any:
        if not instead:
            original(*given, **named)
        raise Killed

    monkeypatch.setattr(owner, name, call)


MOMENTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "before a piece is on disk": lambda m: _kill_after(m, LogFolder, "append", instead=True),
    "after a piece is on disk": lambda m: _kill_after(m, LogFolder, "append", instead=False),
    "before the store knows": lambda m: _kill_after(m, LogWriter, "_advance", instead=True),
    "before whole files": lambda m: _kill_after(m, LogFolder, "rotate", instead=True),
    "while files are written": lambda m: _kill_after(m, TableFile, "__exit__", instead=True),
    "between both files": lambda m: _kill_after(m, TableFile, "__exit__", instead=False),
    "before the end is removed": lambda m: _kill_after(m, LogFolder, "_close", instead=True),
    "after whole files": lambda m: _kill_after(m, LogFolder, "rotate", instead=False),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_each_change_is_there_once_whenever_the_writer_dies(
    tmp_path: Path, address: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            names = await here.visit()
            await writer.step()
            for _ in range(2):
                names += await here.visit()
                with monkeypatch.context() as patch:
                    MOMENTS[moment](patch)
                    with pytest.raises(Killed):
                        await writer.step()
                writer._folder.unlock()
                writer = await here.started()
            names += await here.visit()
            await writer.stop()
            for kind in ("shown", "answered"):
                assert told(here.path, kind) == Counter(names)
            assert Counter(row["impression"] for row in rows(here.path)) == Counter(names)
            assert not list(here.path.rglob("*.part"))
        await rebuild_store(here.path, f"sqlite:{tmp_path / 'again.db'}")
        assert await held(f"sqlite:{tmp_path / 'again.db'}") == await held(address)

    asyncio.run(story())


def test_a_log_that_could_not_begin_begins_anew(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            before = await here.visit()
            with monkeypatch.context() as patch:
                _kill_after(patch, TableFile, "__exit__", instead=True)
                with pytest.raises(Killed):
                    await here.writer().start()
            after = await here.visit()
            writer = await here.started()
            await here.visit()
            await writer.stop()
            assert told(here.path, "impression") == Counter([*before, *after])
        await rebuild_store(here.path, f"sqlite:{tmp_path / 'again.db'}")
        assert await held(f"sqlite:{tmp_path / 'again.db'}") == await held(address)

    asyncio.run(story())


def test_a_log_does_not_begin_while_others_write_to_the_store(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            original = LogFolder.base

            def base(*given: Any) -> Any:
                asyncio.run_coroutine_threadsafe(here.visit(), loop).result()
                return original(*given)

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(LogFolder, "base", base)
            with pytest.raises(ValueError, match="other services wrote to it meanwhile"):
                await here.writer().start()
            assert journal_files(here.path) == []

    asyncio.run(story())


def test_one_service_writes_and_the_next_goes_on_when_it_is_gone(
    tmp_path: Path, address: str
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            first, second = await here.started(), here.writer()
            assert not await second.start()
            names = await here.visit()
            await first.step()
            assert not await second.start()
            first._folder.unlock()
            names += await here.visit()
            assert await second.start()
            await second.stop()
            assert told(here.path) == Counter(names)

    asyncio.run(story())


def test_of_two_copies_of_a_folder_one_goes_on(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            await here.visit()
            await writer.stop()
            shutil.copytree(here.path, tmp_path / "copy")
            first, second = await here.started(), await here.started(tmp_path / "copy")
            await here.visit()
            await first.step()
            await here.visit()
            with pytest.raises(LogStopped, match="another service writes the event log"):
                await second.step()
            await second.stop()
            await first.stop()
            with pytest.raises(ValueError, match="the log went on in another folder"):
                await here.writer(tmp_path / "copy").start()
            with pytest.raises(ValueError, match="is logged to another folder"):
                await here.writer(tmp_path / "new").start()

    asyncio.run(story())


def test_changes_wait_while_the_store_or_the_disk_does_not_take_them(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            names = []
            for owner, method, error in (
                (here.service.store, "replace_meta", StoreDown("down")),
                (here.service.store, "drop_changes", StoreDown("down")),
                (Segment, "append", OSError("full")),
            ):
                names += await here.visit()
                with monkeypatch.context() as patch:

                    async def fail(*_: Any, error: Exception = error) -> None:
                        raise error

                    def fail_now(*_: Any, error: Exception = error) -> None:
                        raise error

                    patch.setattr(owner, method, fail_now if owner is Segment else fail)
                    with pytest.raises((StoreDown, OSError)):
                        await writer.step()
                names += await here.visit()
                await writer.step()
            assert await here.service.store.changes("", 10) == []
            await writer.stop()
            assert told(here.path) == Counter(names)

    asyncio.run(story())


def test_a_log_that_was_ended_begins_anew_in_the_same_folder(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            first = await here.visit()
            await writer.step()
            writer._folder.unlock()
            await here.visit(2)
        assert await end_log(address) == 4
        with pytest.raises(ValueError, match="has no event log"):
            await end_log(address)
        async with shop(tmp_path, address) as here:
            await here.visit()  # nobody logs this
            assert await here.service.store.changes("", 10) == []
            writer = await here.started()
            last = await here.visit()
            await writer.stop()
            assert told(here.path) == Counter(last)
            assert {row["impression"] for row in rows(here.path)} == {*first, *last}
        await rebuild_store(here.path, f"sqlite:{tmp_path / 'again.db'}")
        assert await held(f"sqlite:{tmp_path / 'again.db'}") == await held(address)

    asyncio.run(story())


def test_a_service_without_the_option_keeps_what_the_log_needs(
    tmp_path: Path, address: str
) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            await (await here.started()).stop()
        async with shop(tmp_path, address) as here:
            names = await here.visit()
            assert len(await here.service.store.changes("", 10)) == 6
            await (await here.started()).stop()
            assert told(here.path) == Counter(names)

    asyncio.run(story())


def test_a_copy_of_a_store_is_not_logged_and_leaves_nothing_behind(
    tmp_path: Path, address: str
) -> None:
    async def story() -> None:
        target = f"sqlite:{tmp_path / 'copy.db'}"
        async with shop(tmp_path, address) as here:
            await (await here.started()).stop()
            await here.visit()
        with pytest.raises(ValueError, match="holds changes that are not in its event log yet"):
            await copy_store(address, target, ttl=TTL)
        async with shop(tmp_path, address) as here:
            await (await here.started()).stop()
        await copy_store(address, target, ttl=TTL)
        copied = Service(here.service.policy, store_at(target, ttl=TTL), dim=3, settings=SETTINGS)
        await copied.start()
        assert await copied.store.get_meta("event_log") is None
        await copied.stop()

    asyncio.run(story())


def test_a_journal_with_a_file_missing_is_refused(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            writer = await here.started()
            for _ in range(3):
                await here.visit()
                await writer.step()
            await writer.stop()
        files = journal_files(here.path)
        target = f"sqlite:{tmp_path / 'again.db'}"
        for missing, message in (
            (files[2], "a file between them is missing"),
            (files[0], "the first file of the journal is missing"),
        ):
            missing.path.rename(tmp_path / "aside")
            with pytest.raises(ValueError, match=message):
                await rebuild_store(here.path, target)
            (tmp_path / "aside").rename(missing.path)
        with pytest.raises(ValueError, match="there is no event log of a service in it"):
            await rebuild_store(tmp_path, target)
        await rebuild_store(here.path, target)
        with pytest.raises(ValueError, match="holds a store already"):
            await rebuild_store(here.path, target)

    asyncio.run(story())


def test_the_service_says_how_far_its_log_is_behind(tmp_path: Path, address: str) -> None:
    async def story() -> None:
        async with shop(tmp_path, address) as here:
            status = here.service.log_status
            assert status.lag(here.now) is None
            writer = await here.started()
            await here.visit()
            await writer.step()
            here.history.now += 5
            assert (status.lag(here.now), status.rows) == (5.0, 3)
            await writer.stop()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("text", "seconds", "size"),
    [("1h", 3600.0, 256e6), ("64MB", 3600.0, 64e6), ("30m, 1.5GB", 1800.0, 1.5e9)],
)
def test_files_are_whole_after_a_time_or_a_size(text: str, seconds: float, size: float) -> None:
    rotation = Rotation.of(text)
    assert (rotation.seconds, rotation.size) == (seconds, size)
    assert rotation.is_due(1, seconds)
    assert rotation.is_due(int(size), 0.0)
    assert not rotation.is_due(int(size) - 1, seconds - 1)


@pytest.mark.parametrize("text", ["", "1", "1 fortnight", "-1h", "1h;2h", "0s"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a time such as 1h, a size such as 256MB"):
        Rotation.of(text)
