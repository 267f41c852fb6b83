"""The application behind a real server, in a thread, and requests as plain bytes."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from fastapi import FastAPI

from faircascade.service.http.connections import GuardedProtocol

PATIENCE = 20.0
"""Seconds after which a test that waits for an answer fails."""


@contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port until the block ends; yield its address."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # or asyncio lets small answers wait
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, access_log=False, http=GuardedProtocol)
    server = uvicorn.Server(config)
    started = threading.Event()

    async def serve() -> None:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not (server.started or serving.done()):
            await asyncio.sleep(0.01)
        started.set()
        await serving

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
        assert not thread.is_alive()


class Line:
    """A connection that is kept, and on which one request goes after the other."""

    def __init__(self, url: str, *, source: str = "127.0.0.1") -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE, (source, 0))
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def answer(self, *, of_head: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the next answer."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        size = 0 if of_head else int(headers.get("content-length", 0))
        return status, headers, self._file.read(size)

    def read(self) -> bytes:
        """Return all that comes until the connection ends or breaks."""
        data = b""
        with suppress(ConnectionError):
            while piece := self._file.read1():
                data += piece
        return data

    def ended(self) -> bool:
        """Return True once the server has closed the connection."""
        return self._file.read(1) == b""


def post(path: str, body: bytes, *headers: str) -> bytes:
    """Return a request with a JSON body."""
    head = [
        f"POST {path} HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def get(path: str, *headers: str, method: str = "GET") -> bytes:
    """Return a request without a body."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode("latin-1")
