"""Both clients behind one face, and a server for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from faircascade.client import AsyncClient, Client
from tests.client.server import Server, serving

Connect = Callable[..., Any]


class Awaiting:
    """An `AsyncClient` that is waited for, so that one test serves both."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, name)

    def __repr__(self) -> str:
        return repr(self._client)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        async def call() -> Any:
            result = getattr(self._client, name)(*args, **kwargs)
            if hasattr(result, "__aiter__"):
                return iter([element async for element in result])
            return await result

        return self._runner.run(call())


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    running.will()
    yield running
    assert not running.script, "something that the server should have done was not asked for"


@pytest.fixture
def slept() -> list[float]:
    """How long clients of this test slept, or would have."""
    return []


@pytest.fixture(params=["sync", "async"])
def connect(
    request: pytest.FixtureRequest, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connect]:
    """Return a function that makes a client; those it made are closed after the test."""
    monkeypatch.delenv("FAIRCASCADE_KEY", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:
        if request.param == "sync":

            def make(url: str, **options: Any) -> Any:
                return stack.enter_context(Client(url, sleep=slept.append, **options))

        else:
            runner = stack.enter_context(asyncio.Runner())

            async def sleep(seconds: float) -> None:
                slept.append(seconds)

            def make(url: str, **options: Any) -> Any:
                client = Awaiting(AsyncClient(url, sleep=sleep, **options), runner)
                stack.callback(client.close)
                return client

        yield make


@pytest.fixture
def client(connect: Connect, server: Server) -> Any:
    return connect(server.url)
