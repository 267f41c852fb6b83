"""Takes connections off a socket on which several workers listen, so that each gets its share."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sized
from contextlib import suppress

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds until connections are accepted again, after one could not be."""
TURN = 0.001
"""Seconds in which another worker has its turn to accept one."""
FEW = 64
"""Connections up to which workers take turns, open at a time or new lately; of many, each gets
about as many by itself, and a turn for each would let them pile up."""
LATELY = 1.0
"""Seconds."""


class Acceptor:
    """Accepts connections one by one, and lets other workers have a turn in between.

    An event loop left to itself accepts all that wait. Of clients that connect at one moment and
    stay, as a proxy does, one worker would then serve all, and the others none.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        open_connections: Sized,
        *,
        shared: bool,
    ) -> None:
        """Accept connections of a socket, which may be `shared` with other workers; each gets a
        protocol of its own."""
        self._listener = listener
        self._protocol = protocol
        self._open = open_connections
        self._shared = shared
        self._loop = asyncio.get_running_loop()
        self._beginning: set[asyncio.Task[object]] = set()
        self._paused: asyncio.TimerHandle | None = None
        self._turns = 0  # that were left to others, until then
        self._until = 0.0
        listener.setblocking(False)

    def start(self) -> None:
        """Accept from now on."""
        self._paused = None
        self._loop.add_reader(self._listener, self._accept)

    async def stop(self) -> None:
        """Accept those that wait, which would be reset otherwise, and close the socket."""
        self._loop.remove_reader(self._listener)
        if self._paused is not None:
            self._paused.cancel()
        with suppress(OSError):  # nobody waits any more
            while True:
                self._begin(self._listener.accept()[0])
        self._listener.close()
        if self._beginning:
            await asyncio.wait(self._beginning)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):  # another one was faster
            return
        except OSError as error:  # no open files are left, say
            log.error("connections cannot be accepted", extra={"reason": str(error)})
            self._wait(PAUSE)
            return
        self._begin(connection)
        if self._shared and len(self._open) < FEW and self._has_turns():
            self._wait(TURN)

    def _has_turns(self) -> bool:
        """Tell whether few connections came lately."""
        now = self._loop.time()
        if now >= self._until:
            self._turns, self._until = 0, now + LATELY
        self._turns += 1
        return self._turns <= FEW

    def _wait(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._paused = self._loop.call_later(seconds, self.start)

    def _begin(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        begun = self._loop.create_task(self._connect(connection))
        self._beginning.add(begun)  # the event loop alone would let go of it
        begun.add_done_callback(self._beginning.discard)

    async def _connect(self, connection: socket.socket) -> None:
        with suppress(OSError):  # it has gone
            await self._loop.connect_accepted_socket(self._protocol, connection)
