"""Bounds on the bodies of requests: on each, and on all that are held at a time."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from faircascade.service.http.problems import RETRY_AFTER

SMALL = 64 * 1024
"""Bytes of each body that are always taken, so that large bodies only hold up large ones."""


class Bodies:
    """The bodies of all requests that are not answered yet."""

    def __init__(self, *, largest: int, together: int) -> None:
        """Take `largest` bytes of each, and `together` of all, beyond the small ones."""
        self.largest = largest
        self.together = together
        self.held = 0
        """Bytes beyond the first `SMALL` of each body."""

    def too_large(self) -> str:
        """Return the error message for a body beyond the limit."""
        return f"the body must have at most {self.largest:,} bytes"

    def too_many(self) -> str:
        """Return the error message for a body for which there is no room now."""
        return (
            f"bodies under way may have {self.together:,} bytes together, and these are in use; "
            f"try again soon, or send less than {SMALL:,} bytes, which are always taken"
        )


class Body:
    """The body of a request, held until the request is answered."""

    __slots__ = ("_bodies", "_held", "_receive", "_size")

    def __init__(self, bodies: Bodies, receive: Receive) -> None:
        self._bodies = bodies
        self._receive = receive
        self._size = 0
        self._held = 0

    async def receive(self) -> Message:
        """Receive some of it; refuse what goes beyond a limit, whatever was announced."""
        message = await self._receive()
        bodies = self._bodies
        self._size += len(message.get("body", b""))
        if self._size > bodies.largest:
            raise HTTPException(413, bodies.too_large())
        more = self._size - SMALL - self._held
        if more > 0:
            if bodies.held + more > bodies.together:
                raise HTTPException(503, bodies.too_many(), RETRY_AFTER)
            bodies.held += more
            self._held += more
        return message

    def release(self) -> None:
        """Make room for others."""
        self._bodies.held -= self._held
        self._held = 0
