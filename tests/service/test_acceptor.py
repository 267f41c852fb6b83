"""Connections are shared among those who listen on one socket, and none that waits is lost."""

from __future__ import annotations

import asyncio
import errno
import math
import socket
from contextlib import suppress
from typing import Any

import pytest

from faircascade.service import acceptor
from faircascade.service.acceptor import FEW, Acceptor


class Greeting(asyncio.Protocol):
    """Says who answers."""

    def __init__(self, name: bytes, connections: set[Any]) -> None:
        self._name, self._connections = name, connections

    def connection_made(self, transport: Any) -> None:
        self._connections.add(transport)
        self._transport = transport
        transport.write(self._name)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self._transport)


@pytest.fixture
def listener() -> Any:
    """Yield a socket that listens."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as made:
        yield made


async def greeted(listener: socket.socket) -> bytes:
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    try:
        return await reader.read(1)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def acceptor_of(name: bytes, listener: socket.socket, *, shared: bool) -> tuple[Acceptor, set[Any]]:
    connections: set[Any] = set()
    made = Acceptor(listener, lambda: Greeting(name, connections), connections, shared=shared)
    return made, connections


async def stop(acceptor: Acceptor, connections: set[Any]) -> None:
    """Stop accepting, and hang up."""
    await acceptor.stop()
    await hang_up(connections)


async def hang_up(connections: set[Any]) -> None:
    left = {one for one in connections if isinstance(one, asyncio.Transport)}
    for transport in left:
        transport.close()
    while left & connections:
        await asyncio.sleep(0)


def test_clients_that_connect_at_one_moment_are_divided_among_those_who_share_a_socket(
    listener: socket.socket,
) -> None:
    async def scenario() -> None:
        both = [acceptor_of(name, listener.dup(), shared=True) for name in (b"a", b"b")]
        clients = [socket.create_connection(listener.getsockname()) for _ in range(16)]
        for one, _ in both:
            one.start()
        while sum(len(connections) for _, connections in both) < len(clients):
            await asyncio.sleep(0)
        assert min(len(connections) for _, connections in both) >= 4
        for one, connections in both:
            await stop(one, connections)
        for client in clients:
            client.close()

    asyncio.run(scenario())


def test_many_connections_are_accepted_without_a_pause(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "TURN", 3600.0)

    async def scenario() -> None:
        one, connections = acceptor_of(b"a", listener, shared=True)
        connections |= set(range(FEW))
        one.start()
        assert [await greeted(listener) for _ in range(5)] == [b"a"] * 5
        await stop(one, connections)

    asyncio.run(scenario())


def test_connections_that_come_and_go_do_not_pile_up(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "LATELY", math.inf)

    async def scenario() -> None:
        one, connections = acceptor_of(b"a", listener, shared=True)
        one.start()
        for _ in range(FEW):
            await greeted(listener)
        monkeypatch.setattr(acceptor, "TURN", 3600.0)
        assert [await greeted(listener) for _ in range(5)] == [b"a"] * 5
        await stop(one, connections)

    asyncio.run(asyncio.wait_for(scenario(), 20.0))


def test_who_waits_when_a_server_stops_is_still_served(listener: socket.socket) -> None:
    async def scenario() -> None:
        one, connections = acceptor_of(b"a", listener, shared=False)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(20)]
        one.start()
        await one.stop()
        assert len(connections) == len(clients)
        assert [client.recv(1) for client in clients] == [b"a"] * len(clients)
        await hang_up(connections)
        for client in clients:
            client.close()

    asyncio.run(scenario())


class FullOnce:
    """A socket whose process has too many open files, once."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)

    def accept(self) -> Any:
        if not self.failed:
            self.failed = True
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listener.accept()


def test_connections_are_accepted_again_after_one_could_not_be(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acceptor, "PAUSE", 0.0)

    async def scenario() -> None:
        full: Any = FullOnce(listener)
        one, connections = acceptor_of(b"a", full, shared=False)
        one.start()
        assert await greeted(listener) == b"a"
        assert full.failed
        await stop(one, connections)

    asyncio.run(scenario())
    assert "connections cannot be accepted" in caplog.text
