"""The audit log as a file: whole lines, on disk, whatever happens."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from faircascade.service.audit_log import AuditFile, AuditLog, NotAudited
from tests.service.server_process import running


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def test_lines_are_added_and_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    file = AuditFile.at(tmp_path / "folder" / "audit.jsonl")
    file.write([{"n": 1}, {"n": 2}])
    AuditFile.at(file.path).write([{"n": 3}])
    assert lines(file.path) == [{"n": 1}, {"n": 2}, {"n": 3}]
    for path in (file.path, Path(f"{file.path}.key")):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name", ['a\n{"forged": 1}', "a\r\x00\x1b[2K", "a\u2028b\x85c", "\u202ea\ud800"]
)
def test_a_name_cannot_look_like_another_line(tmp_path: Path, name: str) -> None:
    file = AuditFile.at(tmp_path / "audit.jsonl")
    file.write([{"item": name}])
    text = file.path.read_bytes()
    assert text.isascii()
    assert text.count(b"\n") == 1
    assert not set(text[:-1]) & set(range(32))
    assert lines(file.path) == [{"item": name}]


def test_a_large_file_gets_another_name_and_nothing_is_lost(tmp_path: Path) -> None:
    file = AuditFile(tmp_path / "audit.jsonl", largest=200)
    for n in range(100):
        file.write([{"n": n, "text": "x" * 20}])
    files = sorted(tmp_path.glob("audit.jsonl*"), key=lambda p: p.stat().st_mtime_ns)
    kept = [path for path in files if path.suffix != ".lock"]
    assert len(kept) > 10
    assert all(path.stat().st_size <= 200 for path in kept)
    assert sorted(line["n"] for path in kept for line in lines(path)) == list(range(100))


def test_what_a_power_cut_left_of_a_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    file = AuditFile.at(tmp_path / "audit.jsonl")
    file.write([{"n": 1}])
    with file.path.open("ab") as torn:
        torn.write(b'{"n": 2, "te')
    file.write([{"n": 3}])
    first, torn_line, last = file.path.read_text().splitlines()
    assert (json.loads(first), json.loads(last)) == ({"n": 1}, {"n": 3})
    assert torn_line == '{"n": 2, "te'


def test_a_line_that_does_not_fit_on_the_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AuditFile.at(tmp_path / "audit.jsonl")
    file.write([{"n": 1}])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(NotAudited, match=r"cannot be written \(No space left on device\)"):
            file.write([{"n": 2}])
    file.write([{"n": 3}])
    assert lines(file.path) == [{"n": 1}, {"n": 3}]


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="the audit log cannot be written"):
        AuditFile.at(tmp_path / "file" / "audit.jsonl")
    with pytest.raises(ValueError, match="the audit log cannot be written"):
        AuditFile.at(tmp_path)


def _write(path: Path, writer: int) -> None:
    file = AuditFile(path, largest=2_000)
    for n in range(50):
        file.write([{"writer": writer, "n": n}])


def test_several_processes_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    found = [
        line
        for place in tmp_path.glob("audit.jsonl*")
        if place.suffix != ".lock"
        for line in lines(place)
    ]
    assert sorted((line["writer"], line["n"]) for line in found) == [
        (writer, n) for writer in range(3) for n in range(50)
    ]


def test_a_pseudonym_is_of_one_user_and_one_log(tmp_path: Path) -> None:
    file, other = AuditFile.at(tmp_path / "a"), AuditFile.at(tmp_path / "b")
    assert file.pseudonym("ann") == AuditFile.at(tmp_path / "a").pseudonym("ann")
    found = {file.pseudonym("ann"), file.pseudonym("bob"), other.pseudonym("ann")}
    assert len(found) == 3
    assert all(len(text) == 32 for text in found)


def test_processes_that_begin_at_once_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: AuditFile(tmp_path / "a").pseudonym("ann"), range(32)))
    assert len(found) == 1


def test_lines_that_come_together_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AuditFile.at(tmp_path / "audit.jsonl")
    calls = []
    write = AuditFile.write
    monkeypatch.setattr(AuditFile, "write", lambda self, e: (calls.append(len(e)), write(self, e)))

    async def work() -> None:
        log = AuditLog(file)
        await asyncio.gather(*(log.note({"n": n}) for n in range(100)))
        await log.stop()

    asyncio.run(work())
    assert sorted(line["n"] for line in lines(file.path)) == list(range(100))
    assert len(calls) <= 3


@pytest.mark.slow
def test_every_acknowledged_change_is_noted_after_a_kill(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item_id,f1,f2\na,0.1,0.2\nb,0.3,0.1\n")
    acknowledged: list[str] = []
    for _ in range(3):
        with running("--items=items.csv", "--audit-log=audit.jsonl", folder=tmp_path) as server:
            killer = threading.Timer(0.3, server.process.kill)
            killer.start()

            def change(writer: int, url: str = server.url) -> None:
                with httpx.Client(base_url=url) as http:
                    for n in count():
                        name = f"item-{writer}-{len(acknowledged)}-{n}"
                        answer = http.put(f"/v1/items/{name}", json={"features": [0.1, 0.2]})
                        assert answer.status_code == 201
                        acknowledged.append(name)

            with ThreadPoolExecutor(4) as threads:
                for failed in [threads.submit(change, writer) for writer in range(4)]:
                    with pytest.raises(httpx.TransportError):
                        failed.result()
            killer.join()
    found = {line["target"]["item"] for line in lines(tmp_path / "audit.jsonl")}
    assert acknowledged
    assert set(acknowledged) <= found


def test_a_disk_that_is_full_is_told_to_all_who_wait_and_forgotten_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = AuditFile.at(tmp_path / "audit.jsonl")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    async def work() -> None:
        log = AuditLog(file)
        await log.check()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            notes = (log.note({"n": n}) for n in range(3))
            found = await asyncio.gather(*notes, return_exceptions=True)
            assert [type(one) for one in found] == [NotAudited] * 3
            with pytest.raises(NotAudited):
                await log.check()
        await log.check()
        await log.note({"n": 4})
        await log.stop()

    asyncio.run(work())
    assert lines(file.path) == [{"n": 4}]
    assert [record.getMessage() for record in caplog.records] == ["audit log cannot be written"]
