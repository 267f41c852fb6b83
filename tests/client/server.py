"""A real HTTP server on the loopback that does what a test tells it to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Behaviour = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Seen:
    """A request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """Answers each request with the next behaviour, and remembers what it was asked."""

    url: str
    script: deque[Behaviour] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)

    def will(self, *behaviours: Behaviour) -> None:
        self.seen.clear()
        self.script = deque(behaviours)

    async def __call__(self, request: Request) -> Response:
        body = await request.body()
        path = request.path_params["path"]  # decoded, as the service's own routes get it
        query, headers = dict(request.query_params), dict(request.headers)
        self.seen.append(
            Seen(request.method, path, query, headers, json.loads(body) if body else None)
        )
        return await self.script.popleft()(request)


def says(document: Any, status: int = 200, **headers: str) -> Behaviour:
    async def behave(_: Request) -> Response:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return JSONResponse(document, status, names)

    return behave


def refuses(status: int, title: str, detail: str = "no", **more: Any) -> Behaviour:
    headers = more.pop("headers", {})
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return says(problem | more, status, **headers)


def shows_a_page(status: int) -> Behaviour:
    """Do as a proxy does."""

    async def behave(_: Request) -> Response:
        return HTMLResponse("<html><h1>Oh no</h1></html>", status)

    return behave


async def does_nothing(_: Request) -> Response:
    return Response(status_code=204)


async def hangs(request: Request) -> Response:
    """Answer nothing until the client has had enough of it."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response()


async def breaks_off(_: Request) -> Response:
    """Hang up in the middle of the answer."""

    async def half() -> Any:
        yield b'{"impression_id": '
        raise ConnectionAbortedError

    return StreamingResponse(half(), headers={"content-length": "100"})


async def trickles(_: Request) -> Response:
    """Send blanks that never become a document, though quickly enough for any timeout."""

    async def blanks() -> Any:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    return StreamingResponse(blanks())


@contextmanager
def serving() -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # callers queue from now on
        port = listener.getsockname()[1]
        server = Server(f"http://127.0.0.1:{port}")
        methods = ["GET", "PUT", "POST", "DELETE"]
        app = Starlette(routes=[Route("/{path:path}", server.__call__, methods=methods)])
        runner = uvicorn.Server(
            uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield server
        finally:
            runner.should_exit = True
            thread.join()


@contextmanager
def hanging_up() -> Iterator[tuple[str, list[bytes]]]:
    """Serve an address that reads requests and hangs up without a word; with what it read."""
    heard: list[bytes] = []

    def listen(listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                text = connection.recv(65536)
                if text == b"stop":
                    return
                heard.append(text)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        thread = threading.Thread(target=listen, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{address[1]}", heard
        finally:
            with socket.create_connection(address) as connection:
                connection.sendall(b"stop")
            thread.join()
