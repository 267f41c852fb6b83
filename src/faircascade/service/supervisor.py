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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory

from faircascade.errors import ParameterError
from faircascade.service.worker import VARIABLE, Worker

log = logging.getLogger(__name__)

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Seconds before a worker that died is started again; twice as many each time that it dies soon."""
SOON = 60.0
"""Seconds after the start."""
STOP_SECONDS = 30.0
"""Seconds after which a worker that was asked to stop is killed."""
BACKLOG = 2048
MOST_WORKERS = 64


def supervise(
    workers: int, listener: socket.socket, *, store: str, files: Sequence[int] = ()
) -> int:
    """Serve with several workers until the process is asked to stop; return its exit code.

    They share the listening socket and, if it is one file, the store.
    """
    if os.name != "posix":
        raise ParameterError("workers", "must be 1 on this system", workers)
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

    @classmethod
    async def start(cls, worker: Worker) -> _Process:
        """Start the command of this process once more, as a worker.

        In a process group of its own, so that Ctrl-C reaches the supervisor alone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)
            ours.send(worker.document())
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "faircascade",
                *sys.argv[1:],
                env={**os.environ, VARIABLE: str(theirs.fileno())},
                pass_fds=(theirs.fileno(), worker.listener, *worker.files),
                process_group=0,
            )
        return cls(worker, process, ours)

    async def is_ready(self) -> bool:
        """Wait until it takes requests; False if it ended instead."""
        with suppress(ConnectionError):
            return bool(await asyncio.get_running_loop().sock_recv(self.link, 64))
        return False

    async def end(self) -> int:
        """Return its exit code when it has ended."""
        try:
            return await self.process.wait()
        finally:
            self.link.close()

    def send(self, number: int) -> None:
        """Send a signal, if it still lives."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


@dataclass(eq=False)
class _Supervisor:
    plan: Worker
    listener: socket.socket
    living: dict[int, _Process] = field(default_factory=dict)
    """By number."""
    serving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the store is ready, and the first worker takes requests."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    code: int = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop, number)
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
            asyncio.get_running_loop().call_later(STOP_SECONDS, self._send, signal.SIGKILL)
        self._send(number)

    def _send(self, number: int) -> None:
        for process in self.living.values():
            process.send(number)

    async def _keep(self, number: int) -> None:
        """Have a worker of this number, until all are to stop."""
        clock, pause, served = asyncio.get_running_loop().time, SHORTEST_PAUSE, False
        while not self.stopping.is_set():
            began = clock()
            leading = number == 0 and not served
            process = await _Process.start(replace(self.plan, number=number, leading=leading))
            self.living[number] = process
            if self.stopping.is_set():
                process.send(signal.SIGTERM)
            if await process.is_ready():
                served = True
                self.serving.set()
            code = await process.end()
            del self.living[number]
            if self.stopping.is_set():
                return
            if not served:
                if code < 0:  # otherwise it has said itself why
                    log.error("a worker was killed", extra={"worker": number, "signal": -code})
                self.stop(signal.SIGTERM, max(1, code))
                return
            pause = SHORTEST_PAUSE if clock() - began > SOON else min(2 * pause, LONGEST_PAUSE)
            about = {"worker": number, "code": code, "seconds": pause}
            log.warning("a worker ended, and is started again", extra=about)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), pause)
