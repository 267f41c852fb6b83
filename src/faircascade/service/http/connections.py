"""Bounds on what a connection may take, so that no client can hold up the service.

Uvicorn reads a head of any size, and the parser copies what it has of a header field with every
piece that comes: one that never ends would keep the event loop busy. It also waits for ever, for
requests and for their answers to be taken, and for requests that are sent before earlier ones are
answered it has room without end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Sized
from secrets import token_hex
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from faircascade.service.http import problems
from faircascade.service.http.admission import TICKET, Ticket
from faircascade.service.http.dependencies import Dependencies
from faircascade.service.http.middleware import LARGEST_HEAD, head_too_large, id_of, own_headers

KEEP_ALIVE = 75
"""Seconds that a connection without a request stays open: longer than clients and proxies keep it,
so that they close it first (see `faircascade.client.connection.IDLE_SECONDS`). One that was opened
in advance is no exception: it would be closed just when the first request is on its way."""
HEAD_SECONDS = 10.0
"""Until the head of a request is there, from the first byte."""
BODY_SECONDS = 30.0
"""Until the body is there, from the end of the head."""
LINGER_SECONDS = 2.0
"""For which a refused client may go on sending; else it would not read the answer."""
WRITE_SECONDS = 30.0
"""Until a client has taken its answer, but for the little that buffers hold."""
MOST_PIPELINED = 16
"""Requests that may wait on a connection for an earlier one to be answered."""


class PipelineFlow(FlowControl):
    """Reads no more while requests wait for an earlier one to be answered."""

    def __init__(self, transport: asyncio.Transport, pipeline: Sized) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        if not self._pipeline:
            super().resume_reading()


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with bounds on sizes and times; its own errors are problem documents."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting = 0  # bytes that came since the parser last made something of them
        self._asked = False  # True once anything came
        self._deadline: float | None = None  # None while nothing is owed to us
        self._timer: asyncio.TimerHandle | None = None
        self._untaken_since: float | None = None  # None while answers are taken
        self._refused = False  # True if nothing more is read
        self._shed = False  # True while the rest of a request comes that was refused by its head
        self._ticket: Ticket | None = None  # of the request under way
        application: Any = self.config.app
        self._dependencies: Dependencies = application.state.dependencies
        self._pool = self._dependencies.connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = PipelineFlow(transport, self.pipeline)
        refusal = self._pool.enter(transport, self.client[0] if self.client else "")
        if refusal is not None:
            self._dependencies.metrics.refused_connections.inc()
            linger = self._pool.may_linger(transport)
            self._refuse(503, refusal, problems.RETRY_AFTER, linger=linger)
        self._expect(KEEP_ALIVE)
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._ticket is not None:
            self._ticket.gone = True
        self._pool.leave(self.transport)
        super().connection_lost(exc)

    # sizes

    def data_received(self, data: bytes) -> None:
        if self._deadline is None or not self._asked:
            self._asked = True
            self._expect(HEAD_SECONDS)
        while data and not (self._refused or self.transport.is_closing()):
            piece = data[: LARGEST_HEAD + 1 - self._waiting]
            data = data[len(piece) :]
            self._waiting += len(piece)
            super().data_received(piece)
            if self._waiting > LARGEST_HEAD:
                self._refuse(431, head_too_large())

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        self._waiting = 0
        self._expect(BODY_SECONDS)
        self._pool.wake(self.transport)
        self.app = self.config.loaded_app if self._may_begin() else self._once_taken
        if len(self.pipeline) == MOST_PIPELINED:
            self.app = too_many_pipelined
            self._refused = True
        limit = self._dependencies.admission.limit_at(self.parser.get_method(), self.url)
        if limit is not None and self._is_free():
            self._ticket = limit.ticket()
            if self._ticket is None:
                self._shed = True
                self._answer_shed(limit.path)
                return
            scope: Any = self.scope
            scope[TICKET] = self._ticket
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._waiting = 0
        if not (self._refused or self._shed):
            super().on_body(body)

    def on_response_complete(self) -> None:
        self._ticket = None
        if not self.pipeline:
            self._pool.rest(self.transport)
        super().on_response_complete()

    # times

    def on_message_begin(self) -> None:
        self._expect(HEAD_SECONDS)
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._waiting = 0
        self._deadline = None
        if self._shed:
            self._shed = False
            self.on_response_complete()
            return
        if self._ticket is not None:
            self._ticket.arrive()
        super().on_message_complete()

    def _expect(self, seconds: float) -> None:
        self._deadline = self.loop.time() + seconds

    def pause_writing(self) -> None:
        self._untaken_since = self.loop.time()
        super().pause_writing()
        self._pool.stall(self.transport)

    def resume_writing(self) -> None:
        self._untaken_since = None
        super().resume_writing()
        self._pool.flow(self.transport)

    def _look_again(self) -> None:
        """Check now and then whether it is too late: a timer per request would cost more."""
        now, closing = self.loop.time(), self.transport.is_closing()
        if closing and self._untaken_since is None:  # it closes when the rest is taken
            self._untaken_since = now
        if self._untaken_since is not None and now >= self._untaken_since + WRITE_SECONDS:
            self.transport.abort()
            return
        if self._deadline is not None and now >= self._deadline and not closing:
            self._late()
        times = [now + HEAD_SECONDS]  # the shortest of all, so that no deadline is overlooked
        if self._untaken_since is not None:
            times.append(self._untaken_since + WRITE_SECONDS)
        if self._deadline is not None and self._deadline > now:
            times.append(self._deadline)
        self._timer = self.loop.call_at(min(times), self._look_again)

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

    def _refuse(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        *,
        linger: bool = True,
    ) -> None:
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
        self._write(_problem(status, detail, headers))
        if not linger:
            self.transport.close()
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _may_begin(self) -> bool:
        """Tell whether earlier requests are answered, and the answers taken."""
        answered = self.cycle is None or self.cycle.response_complete
        return answered and not self.flow.write_paused

    async def _once_taken(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin a request when earlier answers are taken, so that no more of them wait."""
        await self.flow.drain()
        await self.config.loaded_app(scope, receive, send)

    def _is_free(self) -> bool:
        """Tell whether a request can be answered at once, and the connection kept."""
        return (
            self._may_begin()
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
            and not self.expect_100_continue
            and not self._dependencies.service.stopping
        )

    def _answer_shed(self, path: str) -> None:
        """Answer in place of the application, which would take several times as long."""
        self._dependencies.metrics.shed(path)
        given = next((value for name, value in self.headers if name == b"x-request-id"), b"")
        request_id = id_of(given)
        answer = problems.too_many_requests(request_id.decode())
        self._write(answer, [*self.server_state.default_headers, *own_headers(request_id)])

    def _write(self, answer: Response, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
        lines = [name + b": " + value + b"\r\n" for name, value in [*more, *answer.raw_headers]]
        head = b"".join([STATUS_LINE[answer.status_code], *lines, b"\r\n"])
        self.transport.write(head + bytes(answer.body))

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "the request is not HTTP")

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: anybody could fill the log with it."""


async def too_many_pipelined(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in place of the application to the last request that is read on a connection."""
    detail = (
        f"at most {MOST_PIPELINED} requests may wait on a connection; "
        "wait for answers, or open another connection"
    )
    await _problem(429, detail, problems.RETRY_AFTER)(scope, receive, send)


def _problem(status: int, detail: str, headers: Mapping[str, str] | None) -> Response:
    name = token_hex(8)
    ours = {"Connection": "close", "X-Request-ID": name, "X-Content-Type-Options": "nosniff"}
    return problems.answer(name, problems.document(status, detail), {**ours, **(headers or {})})
