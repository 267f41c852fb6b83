"""A file is read on from where its events were acknowledged, and never taken for another one."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from faircascade.service.imports.events import Record
from faircascade.service.imports.sources import file as module
from faircascade.service.imports.sources.base import EventSource, SourceOptions
from faircascade.service.imports.sources.file import FileSource
from faircascade.service.imports.sources.registry import source_at

TO = "http://service"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def read(
    path: Path, most: int | None = None, *, follow: bool = False, to: str = TO, rotate: bool = False
) -> list[str]:
    """Read and commit up to so many lines, in twos; return them."""
    return asyncio.run(_read(path, most, follow=follow, to=to, rotate=rotate))


async def _read(path: Path, most: int | None, *, follow: bool, to: str, rotate: bool) -> list[str]:
    source = source_at(str(path), SourceOptions(to=to, follow=follow))
    found: list[str] = []
    try:
        await source.open()
        empty = 0
        while empty < 3 and (most is None or len(found) < most):
            records: Sequence[Record] | None = await source.read(2)
            if records is None:
                break
            empty = 0 if records else empty + 1
            if not records and rotate:
                path.rename(f"{path}.1")
                path.write_text("new\n")
                rotate = False
            await source.commit(records, [])
            found += [record.text.decode() for record in records]
    finally:
        await source.close()
    return found


async def texts(source: EventSource) -> list[str]:
    """Read what is there now, also where one file follows another."""
    return [record.text.decode() for _ in range(5) for record in await source.read(9) or ()]


@pytest.mark.parametrize("packed", [False, True])
def test_reading_goes_on_where_it_was_committed(path: Path, packed: bool) -> None:
    text = b"".join(b"line %d\n" % n for n in range(9))
    path.write_bytes(gzip.compress(text) if packed else text)
    expected = text.decode().splitlines()
    assert read(path, 4) == expected[:4]
    assert read(path, 2) == expected[4:6]
    assert read(path) == expected[6:]
    assert read(path) == []


def test_what_was_read_and_not_committed_comes_again(path: Path) -> None:
    path.write_text("one\ntwo\n")

    async def forget() -> None:
        source = source_at(str(path), SourceOptions(to=TO))
        await source.open()
        assert await source.read(5)
        await source.close()

    asyncio.run(forget())
    assert read(path) == ["one", "two"]


def test_lines_that_were_added_are_read_in_the_next_run(path: Path) -> None:
    path.write_text("one\n")
    assert read(path) == ["one"]
    with path.open("a") as file:
        file.write("\n\ntwo\n")
    assert read(path) == ["two"]


def test_a_last_line_without_an_end_is_read_once_it_is_whole(path: Path) -> None:
    path.write_text('one\n{"type": "feed')
    assert read(path) == ["one"]
    with path.open("a") as file:
        file.write('back"}')
    assert read(path) == ['{"type": "feedback"}']
    assert read(path) == []


def test_where_a_line_stood_can_be_found_in_an_editor(path: Path) -> None:
    path.write_text("one\n\nthree\n")

    async def places() -> list[str]:
        source = source_at(str(path), SourceOptions(to=TO))
        await source.open()
        try:
            return [record.at for record in await source.read(5) or ()]
        finally:
            await source.close()

    assert asyncio.run(places()) == [f"{path}:1", f"{path}:3"]


def test_another_file_of_that_name_is_refused(path: Path) -> None:
    path.write_text("one\ntwo\n")
    read(path)
    path.write_text("uno\ndue\ntre\n")
    with pytest.raises(ValueError, match="is not the file that was imported up to line 2"):
        read(path)


def test_another_service_needs_a_position_of_its_own(path: Path) -> None:
    path.write_text("one\n")
    read(path)
    with pytest.raises(ValueError, match="was imported into http://service, not http://other"):
        read(path, to="http://other")


def test_two_imports_of_a_file_are_refused(path: Path) -> None:
    path.write_text("one\n")

    async def story() -> None:
        first = source_at(str(path), SourceOptions(to=TO))
        await first.open()
        second = source_at(str(path), SourceOptions(to=TO))
        with pytest.raises(ValueError, match="another import is at work"):
            await second.open()
        await first.close()

    asyncio.run(story())


def test_a_followed_file_waits_for_the_end_of_a_line(path: Path) -> None:
    path.write_text("one\ntw")
    assert read(path, follow=True) == ["one"]
    with path.open("a") as file:
        file.write("o\n")
    assert read(path, follow=True) == ["two"]


def test_a_followed_file_that_is_rotated_is_read_to_its_end_and_then_the_new_one(
    path: Path,
) -> None:
    path.write_text("one\ntwo\nthree")
    assert read(path, follow=True, rotate=True) == ["one", "two", "three", "new"]


def test_a_file_that_was_rotated_while_nobody_followed_is_finished_first(path: Path) -> None:
    path.write_text("one\ntwo\nthree\n")
    assert read(path, 2, follow=True) == ["one", "two"]
    path.rename(f"{path}.1")
    path.write_text("new\n")
    with pytest.raises(ValueError, match="is not the file"):
        read(path)
    assert read(path, follow=True) == ["three", "new"]
    assert read(path, follow=True) == []


def test_what_is_written_to_a_rotated_file_before_the_new_one_is_not_lost(path: Path) -> None:
    path.write_text("one\n")

    async def story() -> list[list[str]]:
        source = source_at(str(path), SourceOptions(to=TO, follow=True))
        await source.open()

        try:
            found = [await texts(source)]
            path.rename(f"{path}.1")
            path.touch()  # as logrotate does before it tells the program
            found.append(await texts(source))
            Path(f"{path}.1").write_text("one\ntwo\n")
            path.write_text("new\n")
            return [*found, await texts(source)]
        finally:
            await source.close()

    assert asyncio.run(story()) == [["one"], [], ["two", "new"]]


@pytest.mark.parametrize("again", [False, True])
def test_a_file_that_was_rotated_twice_is_followed_by_the_one_in_between(
    path: Path, again: bool
) -> None:
    path.write_text("one\ntwo\n")

    async def story() -> list[str]:
        source = source_at(str(path), SourceOptions(to=TO, follow=True))
        await source.open()
        try:
            (first,) = await source.read(1) or ()
            await source.commit([first], [])
            found = [first.text.decode()]
            for ending, text in ((".2", "between"), (".1", "new")):
                path.rename(f"{path}{ending}")
                path.write_text(f"{text}\n")
            Path(f"{path}.3").write_text("older\n")
            for age, ending in enumerate((".3", ".2", ".1", "")):
                os.utime(f"{path}{ending}", (age, age))
            if not again:
                found += await texts(source)
            return found
        finally:
            await source.close()

    found = asyncio.run(story())
    assert [*found, *(read(path, follow=True) if again else ())] == ["one", "two", "between", "new"]


def test_a_followed_file_that_becomes_shorter_is_not_read_on(path: Path) -> None:
    path.write_text("one\n")

    async def story() -> None:
        source = source_at(str(path), SourceOptions(to=TO, follow=True))
        await source.open()
        try:
            assert await source.read(2)
            os.truncate(path, 0)
            with pytest.raises(ValueError, match="became shorter"):
                await source.read(2)
        finally:
            await source.close()

    asyncio.run(story())


def test_what_a_killed_import_was_writing_is_removed(path: Path) -> None:
    path.write_text("one\n")
    draft = path.with_name(".events.jsonl.imported.1-ab.part")
    draft.write_text("{")
    read(path)
    assert not draft.exists()


def test_a_damaged_position_is_refused(path: Path) -> None:
    path.write_text("one\n")
    read(path)
    (path.parent / "events.jsonl.imported").write_text("{}")
    with pytest.raises(ValueError, match="not a position"):
        read(path)


def test_addresses_that_are_no_source_are_refused(tmp_path: Path) -> None:
    for address, message in (
        ("nothing.jsonl", "must be a file that exists"),
        (str(tmp_path), "not a folder"),
        ("kafak://host/topic?group=a", "did you mean 'kafka'"),
        ("redis://host/0?group=a", "it needs stream=..."),
        ("redis://host/0?stream=a&group=b&idle=0", "must be seconds > 0"),
        ("kafka://host:9/topic", "it needs group=..."),
        ("kafka://host:9/?group=a", "must be kafka://HOST"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            source_at(address, SourceOptions(to=TO))


def test_messages_about_addresses_hold_no_password() -> None:
    with pytest.raises(ValueError, match="it needs stream") as found:
        source_at("redis://user:secret@host/0?group=a", SourceOptions(to=TO))
    assert "secret" not in str(found.value)


def test_standard_input_keeps_a_position_only_where_one_is_named(tmp_path: Path) -> None:
    assert FileSource(None, SourceOptions(to=TO))._positions is None
    named = FileSource(None, SourceOptions(to=TO, state=tmp_path / "state"))
    assert named._positions is not None
