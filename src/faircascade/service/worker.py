"""One of the processes of a service, as its supervisor started it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Thread
from typing import Any, Self

VARIABLE = "FAIRCASCADE_WORKER"
"""Names the socket on which a worker learns what it is."""
READY = b"ready"
LEAVING = b"!"
_ALIVE = b"."
_BEAT_SECONDS = 1.0
_LONGEST = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What a worker is given."""

    number: int
    """From 0."""
    count: int
    """How many there are."""
    leading: bool
    """Whether it prepares the store and says what is served; the others start when it is ready."""
    store: str
    """Address of the store."""
    listener: int
    """Open file of the socket that all of them listen on."""
    files: tuple[int, ...]
    """Open files with which they share the store."""
    folder: str
    """Where they leave what others should know."""
    link: int = -1
    """Open file of the socket to the supervisor, which closes when that ends."""

    @classmethod
    def current(cls) -> Self | None:
        """Return what this process is, None if no supervisor started it."""
        link = os.environ.pop(VARIABLE, None)
        if link is None:
            return None
        with socket.socket(fileno=os.dup(int(link))) as wire:
            told: dict[str, Any] = json.loads(wire.recv(_LONGEST))
        worker = cls(**{**told, "files": tuple(told["files"]), "link": int(link)})
        Thread(target=worker._watch, name="supervisor", daemon=True).start()
        return worker

    def document(self) -> bytes:
        """Return it as `current` reads it."""
        return json.dumps({**asdict(self), "link": -1}).encode()

    @property
    def is_first(self) -> bool:
        """Whether it does what one of them should do."""
        return self.number == 0

    def ready(self) -> None:
        """Tell the supervisor that it takes requests."""
        os.write(self.link, READY)

    def leave(self) -> None:
        """Tell the supervisor that it takes no more requests, and will end soon."""
        with socket.socket(fileno=os.dup(self.link)) as wire, suppress(OSError):
            wire.send(LEAVING, socket.MSG_DONTWAIT)

    async def beat(self) -> None:
        """Show the supervisor again and again that the event loop runs."""
        with socket.socket(fileno=os.dup(self.link)) as wire:
            while True:
                await asyncio.sleep(_BEAT_SECONDS)
                with suppress(OSError):  # it does not read: it may be stopped for a while
                    wire.send(_ALIVE, socket.MSG_DONTWAIT)

    def _watch(self) -> None:
        """End with the supervisor: nobody else would stop this process."""
        with suppress(OSError):  # it was killed before it read all signs of life
            while os.read(self.link, 1):
                pass
        os._exit(1)
