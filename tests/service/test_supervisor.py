"""What a supervisor does when workers do not do what they should; with processes made up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from faircascade.service import supervisor
from faircascade.service.supervisor import _command, _Process, _Supervisor
from faircascade.service.worker import Worker
from faircascade.service.workforce import Workforce


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(test(**given))

    return run


class Made(_Process):
    """A worker that is no process: it ends when it is told to, or by itself."""

    def __init__(self, worker: Worker, *, serves: bool = True, code: int | None = None) -> None:
        self.worker = worker
        self.ready = False
        self.process = self  # type: ignore[assignment]
        self.pid = 1_000 + worker.number
        self.signals: list[int] = []
        self._serves = serves
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if code is not None:
            self._ended.set_result(code)

    async def is_ready(self) -> bool:
        if not self._serves:
            await asyncio.wait([self._ended])
        self.ready = self._serves
        return self.ready

    async def end(self, left: Callable[[], None]) -> int:
        return await self._ended

    def send(self, number: int) -> None:
        self.signals.append(number)
        if not self._ended.done():
            self._ended.set_result(-number)


@pytest.fixture
def plan(tmp_path: Path) -> Worker:
    return Worker(
        number=0, count=2, leading=True, store="", listener=0, files=(), folder=str(tmp_path)
    )


async def run(
    plan: Worker,
    monkeypatch: pytest.MonkeyPatch,
    start: Callable[[Worker, int], Made],
    until: Callable[[list[Made]], bool],
) -> tuple[int, list[Made]]:
    """Supervise until something is true of the workers that were started, then stop."""
    made: list[Made] = []
    monkeypatch.setattr(supervisor, "SHORTEST_PAUSE", 0.0)

    async def started(worker: Worker) -> Made:
        made.append(start(worker, len(made)))
        return made[-1]

    monkeypatch.setattr(_Process, "start", started)
    with socket.socket() as listener:
        supervising = _Supervisor(plan, listener)
        work = asyncio.create_task(supervising.run())
        async with asyncio.timeout(10):
            while not work.done() and not until(made):
                await asyncio.sleep(0)
            supervising.stop(signal.SIGTERM)
            return await work, made


@in_a_loop
async def test_a_process_that_cannot_be_started_is_tried_again(
    plan: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = False

    def start(worker: Worker, _: int) -> Made:
        nonlocal failed
        if worker.number == 1 and not failed:
            failed = True
            raise BlockingIOError("Resource temporarily unavailable")
        return Made(worker)

    code, made = await run(plan, monkeypatch, start, lambda made: len(made) == 2)
    assert (code, failed, [one.worker.number for one in made]) == (0, True, [0, 1])


@in_a_loop
async def test_the_service_goes_on_if_another_worker_never_gets_ready(
    plan: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(worker: Worker, _: int) -> Made:
        return Made(worker) if worker.number == 0 else Made(worker, serves=False, code=1)

    def seen(made: list[Made]) -> bool:
        return len(made) == 4 and Workforce.read(plan.folder).restarts == 2

    code, made = await run(plan, monkeypatch, start, seen)
    assert code == 0
    assert [one.worker.number for one in made] == [0, 1, 1, 1]
    assert [one.worker.leading for one in made] == [True, False, False, False]


@in_a_loop
async def test_it_ends_with_the_first_worker_if_that_never_gets_ready(
    plan: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(worker: Worker, _: int) -> Made:
        return Made(worker, serves=False, code=2)

    code, made = await run(plan, monkeypatch, start, lambda made: False)
    assert (code, len(made)) == (2, 1)


@in_a_loop
async def test_a_worker_that_starts_is_stopped_without_a_traceback(plan: Worker) -> None:
    made = Made(plan)
    made.stop(signal.SIGINT)
    made.ready = True
    made.stop(signal.SIGINT)
    assert made.signals == [signal.SIGTERM, signal.SIGINT]


@in_a_loop
async def test_workers_know_who_serves(plan: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(worker: Worker, number: int) -> Made:
        return Made(worker, code=0 if number == 1 else None)

    known: list[Workforce] = []

    def seen(made: list[Made]) -> bool:
        if not made:
            return False
        known.append(Workforce.read(plan.folder))
        return len(known[-1].serving) == 2 and len(made) == 3

    await run(plan, monkeypatch, start, seen)
    assert known[-1].serving == {0: 1_000, 1: 1_001}
    assert (known[-1].count, known[-1].restarts) == (2, 1)


async def sleeping(plan: Worker) -> tuple[_Process, socket.socket]:
    """Return a worker that is ready, and what it would show signs of life with."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=-1)
    return _Process(plan, process, ours, ready=True), theirs


@in_a_loop
async def test_a_worker_that_falls_silent_is_killed(
    plan: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervisor, "SILENT_SECONDS", 0.05)
    process, link = await sleeping(plan)
    with link:
        assert await process.end(lambda: None) == -signal.SIGKILL
    assert "a worker does not answer any more, and is killed" in caplog.text


@in_a_loop
async def test_a_worker_that_leaves_is_known_to_before_it_ends(plan: Worker) -> None:
    process, link = await sleeping(plan)
    with link, socket.socket() as listener:
        supervising = _Supervisor(plan, listener, {0: process})
        supervising._tell()
        assert Workforce.read(plan.folder).serving == {0: process.process.pid}
        ending = asyncio.create_task(process.end(supervising._tell))
        link.send(b".")
        replace(plan, link=link.fileno()).leave()
        while Workforce.read(plan.folder).serving:
            await asyncio.sleep(0)
        assert Workforce.read(plan.folder).leaving == {0: process.process.pid}
        assert not ending.done()
        process.send(signal.SIGKILL)
        await ending


@in_a_loop
async def test_a_supervisor_that_was_stopped_itself_listens_before_it_kills(plan: Worker) -> None:
    process, link = await sleeping(plan)
    with link:
        link.send(b"." * 64 * 50)
        for _ in range(20):
            assert process._has_signs()
        process.process.kill()
        await process.process.wait()
    process.link.close()


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("/usr/bin/faircascade", ["-P", "-m", "faircascade", "serve"]),
        ("/src/faircascade/__main__.py", ["-m", "faircascade", "serve"]),
    ],
)
def test_a_worker_finds_its_modules_where_the_supervisor_did(
    script: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [script, "serve"])
    assert _command() == [sys.executable, *command]


def test_who_reads_of_the_workers_never_sees_half_of_it(tmp_path: Path) -> None:
    workforce = Workforce(1, 2, {0: 5}, {1: 6}, 3)
    workforce.write(str(tmp_path))
    assert Workforce.read(str(tmp_path)) == workforce
    assert [path.name for path in tmp_path.iterdir()] == ["workers.json"]
    assert json.loads((tmp_path / "workers.json").read_text())["count"] == 2


def test_a_worker_ends_with_a_supervisor_that_was_killed_before_it_read_all(
    plan: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.send(b".")
        ours.close()
        replace(plan, link=theirs.fileno())._watch()
    assert codes == [1]
