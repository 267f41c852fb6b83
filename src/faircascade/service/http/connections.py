"""Bounds on connections, so that no client can hold up the service.

Uvicorn reads a head of any size, and the parser copies what it has of a header field with every
piece that comes: one that never ends would keep the event loop busy. It also waits for ever.
"""

from __future__ import annotations

import asyncio
from secrets import token_hex
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from faircascade.service.http import problems
from faircascade.service.http.middleware import LARGEST_HEAD, head_too_large

HEAD_SECONDS = 10.0
"""Until the head of a request is there, from the first byte or from when the line was opened."""
BODY_SECONDS = 30.0
"""Until the body is there, from the end of the head."""
LINGER_SECONDS = 2.0
"""For which a refused client may go on sending; else it would not read the answer."""
MOST_CONNECTIONS = 900
"""Those that are served; some room is left below the 1,024 files that a process may usually open.
"""
ROOM = 50
"""Further connections that are answered with 503; those beyond are closed at once."""


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with bounds on sizes and times; its own errors are problem documents."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting = 0  # bytes that came since the parser last made something of them
        self._deadline: float | None = None  # None while nothing is owed to us
        self._timer: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS + ROOM:
            transport.abort()
            return
        if len(self.connections) > MOST_CONNECTIONS:
            self.app = busy
        self._expect(HEAD_SECONDS)
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    # sizes

    def data_received(self, data: bytes) -> None:
        if self._deadline is None:
            self._expect(HEAD_SECONDS)
        while data and not (self._refused or self.transport.is_closing()):
            piece = data[: LARGEST_HEAD + 1 - self._waiting]
            data = data[len(piece) :]
            self._waiting += len(piece)
            super().data_received(piece)
            if self._waiting > LARGEST_HEAD:
                self._refuse(431, head_too_large())

    def on_body(self, body: bytes) -> None:
        self._waiting = 0
        super().on_body(body)

    # times

    def on_message_begin(self) -> None:
        self._expect(HEAD_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._waiting = 0
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._waiting = 0
        self._deadline = None
        super().on_message_complete()

    def _expect(self, seconds: float) -> None:
        self._deadline = self.loop.time() + seconds

    def _look_again(self) -> None:
        """Check now and then whether it is too late: a timer per request would cost more."""
        wait = HEAD_SECONDS  # the shortest of all, so that no deadline is overlooked
        if self._deadline is not None:
            wait = self._deadline - self.loop.time()
            if wait <= 0:
                wait = HEAD_SECONDS
                self._late()
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(wait, self._look_again)

    def _late(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        in_body = answering and self.cycle.more_body and not self.pipeline
        if self.flow.read_paused or (answering and not in_body):
            self._expect(HEAD_SECONDS)  # it is us who are slow
        elif self._waiting or in_body:
            part, seconds = ("body", BODY_SECONDS) if in_body else ("head", HEAD_SECONDS)
            self._refuse(408, f"the {part} of the request must be here within {seconds:g} seconds")
        else:  # nothing was asked, so nothing is answered
            self.transport.close()

    # answers

    def _refuse(self, status: int, detail: str) -> None:
        """Answer, read no more, and close."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        begun = self.cycle is not None and not self.cycle.response_complete
        if self.pipeline or (begun and (self.cycle.response_started or not self.cycle.more_body)):
            self.transport.close()  # this would be taken for the answer to an earlier request
            return
        if begun:  # whoever waits for the body hears that nobody is there any more
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        answer = _problem(status, detail)
        head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
        self.transport.write(STATUS_LINE[status] + head + b"\r\n" + bytes(answer.body))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "the request is not HTTP")

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: anybody could fill the log with it."""


async def busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in place of the application that there are too many connections."""
    detail = f"there are more than {MOST_CONNECTIONS:,} connections; try again soon"
    await _problem(503, detail, problems.RETRY_AFTER)(scope, receive, send)


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    name = token_hex(8)
    ours = {"Connection": "close", "X-Request-ID": name, "X-Content-Type-Options": "nosniff"}
    return problems.answer(name, problems.document(status, detail), {**ours, **(headers or {})})
