"""Several workers behind one address: starts them, stops them, and replaces those that die.

Each worker is the same command in a process of its own, so nothing has to be handed over but a few
open files. The first one prepares the store, the others start when it is ready. They end with the
supervisor, also if that is killed: their sockets to it close.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from faircascade.service.worker import LEAVING, VARIABLE, Worker
from faircascade.service.workforce import Workforce

log = logging.getLogger(__name__)

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Seconds before a worker that died is started again; twice as many each time that it dies soon."""
SOON = 60.0
"""Seconds after the start."""
STOP_SECONDS = 30.0
"""Seconds after which a worker that was asked to stop is killed."""
SILENT_SECONDS = 30.0
"""Seconds without a sign of life after which a worker that took requests is killed."""
BACKLOG = 2048
MOST_WORKERS = 64


def supervise(
    workers: int, listener: socket.socket, *, store: str, files: Sequence[int] = ()
) -> int:
    """Serve with several workers until the process is asked to stop; return its exit code.

    They share the listening socket and, if it is one file, the store.
    """
    with TemporaryDirectory(prefix="faircascade-") as folder:
        plan = Worker(
            number=0,
            count=workers,
            leading=True,
            store=store,
            listener=listener.fileno(),
            files=tuple(files),
            folder=folder,
        )
        listener.listen(BACKLOG)
        return asyncio.run(_Supervisor(plan, listener).run())


@dataclass(eq=False)
class _Process:
    """A worker while it lives."""

    worker: Worker
    process: asyncio.subprocess.Process
    link: socket.socket
    ready: bool = False
    """Whether it took requests."""
    leaving: bool = False
    """Whether it takes no more."""

    @classmethod
    async def start(cls, worker: Worker) -> _Process:
        """Start the command of this process once more, as a worker.

        In a process group of its own, so that Ctrl-C reaches the supervisor alone.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                ours.setblocking(False)
                ours.send(worker.document())
                process = await asyncio.create_subprocess_exec(
                    *_command(),
                    env={**os.environ, VARIABLE: str(theirs.fileno())},
                    pass_fds=(theirs.fileno(), worker.listener, *worker.files),
                    process_group=0,
                )
        except BaseException:
            ours.close()
            raise
        return cls(worker, process, ours)

    async def is_ready(self) -> bool:
        """Wait until it takes requests; False if it ended instead."""
        self.ready = bool(await self._signs())
        return self.ready

    async def _signs(self) -> bytes:
        """Wait for signs of life; return none if there will be none."""
        with suppress(ConnectionError):
            return await asyncio.get_running_loop().sock_recv(self.link, 64)
        return b""

    async def end(self, left: Callable[[], None]) -> int:
        """Return its exit code when it has ended; kill it if it is ready and falls silent.

        `left` is called when it takes no more requests, before it ends.
        """
        watch = asyncio.create_task(self._watch(left)) if self.ready else None
        try:
            return await self.process.wait()
        finally:
            if watch is not None:
                watch.cancel()
                await asyncio.wait([watch])
            self.link.close()

    async def _watch(self, left: Callable[[], None]) -> None:
        """Kill it when nothing was heard of it for long: it takes connections and never answers."""
        while True:
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    signs = await self._signs()
                if not signs:
                    return
                if LEAVING in signs:
                    self.leaving = True
                    left()
            except TimeoutError:
                if self._has_signs():  # this process was stopped for a while itself
                    continue
                about = {"worker": self.worker.number, "seconds": SILENT_SECONDS}
                log.error("a worker does not answer any more, and is killed", extra=about)
                self.send(signal.SIGKILL)
                return

    def _has_signs(self) -> bool:
        with suppress(BlockingIOError):
            return bool(self.link.recv(64))
        return False

    def send(self, number: int) -> None:
        """Send a signal, if it still lives."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def stop(self, number: int) -> None:
        """Ask it to stop with a signal. Until it has handlers, Ctrl-C would end in a traceback."""
        self.send(number if self.ready else signal.SIGTERM)


def _command() -> list[str]:
    """Return the command of this process, which finds the modules that this one found.

    `python -m` looks into the working directory first, the installed command does not.
    """
    by_module = Path(sys.argv[0]).name == "__main__.py"
    return [sys.executable, *([] if by_module else ["-P"]), "-m", "faircascade", *sys.argv[1:]]


@dataclass(eq=False)
class _Supervisor:
    plan: Worker
    listener: socket.socket
    living: dict[int, _Process] = field(default_factory=dict)
    """By number."""
    serving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the store is ready, and the first worker takes requests."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    restarts: int = 0
    code: int = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop, number)
        self._tell()
        first = asyncio.create_task(self._keep(0))
        serving = asyncio.create_task(self.serving.wait())
        await asyncio.wait([first, serving], return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        await asyncio.gather(first, *(self._keep(number) for number in range(1, self.plan.count)))
        return self.code

    def stop(self, number: int, code: int = 0) -> None:
        """Ask all workers to stop, as this process was asked."""
        if not self.stopping.is_set():
            self.stopping.set()
            self.code = code
            self.listener.close()  # workers have it open as long as they take requests
            asyncio.get_running_loop().call_later(STOP_SECONDS, self._kill)
        for process in self.living.values():
            process.stop(number)

    def _kill(self) -> None:
        for process in self.living.values():
            process.send(signal.SIGKILL)

    def _tell(self) -> None:
        """Let workers know of each other."""
        ready = {n: one for n, one in self.living.items() if one.ready}
        serving = {n: one.process.pid for n, one in ready.items() if not one.leaving}
        leaving = {n: one.process.pid for n, one in ready.items() if one.leaving}
        told = Workforce(os.getpid(), self.plan.count, serving, leaving, self.restarts)
        told.write(self.plan.folder)

    async def _keep(self, number: int) -> None:
        """Have a worker of this number, until all are to stop."""
        clock, pause, served = asyncio.get_running_loop().time, SHORTEST_PAUSE, False
        while not self.stopping.is_set():
            began = clock()
            code, ready = await self._run(number, leading=number == 0 and not served)
            served |= ready
            if self.stopping.is_set():
                return
            if not served and number == 0:
                self.stop(signal.SIGTERM, max(1, code))
                return
            self.restarts += 1
            pause = SHORTEST_PAUSE if clock() - began > SOON else min(2 * pause, LONGEST_PAUSE)
            about = {"worker": number, "code": code, "seconds": pause}
            log.warning("a worker ended, and is started again", extra=about)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), pause)

    async def _run(self, number: int, *, leading: bool) -> tuple[int, bool]:
        """Run a worker until it ends; return its exit code, and whether it took requests."""
        try:
            process = await _Process.start(replace(self.plan, number=number, leading=leading))
        except OSError as error:  # no memory or no process left, perhaps only now
            about = {"worker": number, "reason": str(error)}
            log.error("a worker could not be started", extra=about)
            return 1, False
        self.living[number] = process
        if self.stopping.is_set():
            process.stop(signal.SIGTERM)
        if await process.is_ready():
            self._tell()
            self.serving.set()
        code = await process.end(self._tell)
        del self.living[number]
        self._tell()
        if leading and not process.ready and code < 0 and not self.stopping.is_set():
            about = {"worker": number, "signal": -code}  # otherwise it has said itself why
            log.error("a worker was killed", extra=about)
        return code, process.ready
