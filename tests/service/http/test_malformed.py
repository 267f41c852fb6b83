"""Whatever is sent, the service answers and goes on."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.service.http.applications import app_of, new_service
from tests.service.http.malformed import Mischief, Wrong
from tests.service.http.wire import PATIENCE, listening

REQUESTS = 10_000
LINES = 8
"""Connections at a time."""


class Caller:
    """Sends requests one after the other, on a new connection where the old one was closed."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, request: Wrong) -> tuple[int, bytes, bytes]:
        """Return status, head and body of the answer."""
        if self._streams is None:
            assert self._address.hostname is not None
            self._streams = await asyncio.open_connection(
                self._address.hostname, self._address.port
            )
        reader, writer = self._streams
        writer.write(request.on_the_wire())
        head = b"HTTP/1.1 100"
        while head.startswith(b"HTTP/1.1 100"):
            head = (await reader.readuntil(b"\r\n\r\n")).lower().replace(b"http", b"HTTP")
        size = 0
        if request.method != b"HEAD" and b"content-length: " in head:
            size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(size)
        if b"connection: close" in head:
            await self.close()
        return int(head.split()[1]), head, body

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def call_all(url: str, mischief: Mischief, count: int) -> dict[int, int]:
    """Send requests over some connections and return how often each status came."""
    statuses: dict[int, int] = {}
    left = iter(range(count))

    async def line() -> None:
        caller = Caller(url)
        for _ in left:
            request = mischief.next()
            status, head, body = await asyncio.wait_for(caller.call(request), PATIENCE)
            assert status < 500, (request, body)
            if status > 400 and body:
                assert b"application/problem+json" in head, (request, head)
                problem = json.loads(body)
                assert problem["status"] == status
                assert len(problem["detail"]) < 600, (request, problem)
            statuses[status] = statuses.get(status, 0) + 1
        await caller.close()

    await asyncio.gather(*(line() for _ in range(LINES)))
    return statuses


@pytest.mark.slow
def test_ten_thousand_malformed_requests_never_give_an_error_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with listening(app_of(new_service(tmp_path))) as url, httpx.Client(base_url=url) as client:

        def recommend() -> str:
            answer = client.post("/v1/recommendations", json={"user": "ann", "k": 3})
            assert answer.status_code == 200, answer.text
            return str(answer.json()["impression_id"])

        mischief = Mischief(seed=7, impressions=[recommend() for _ in range(50)])
        statuses = asyncio.run(call_all(url, mischief, REQUESTS))
        recommend()
        for path in ("/readyz", "/v1/exposure?window=all", "/metrics", "/v1/items"):
            assert client.get(path).status_code == 200
    assert sum(statuses.values()) == REQUESTS
    assert {200, 400, 404, 405, 406, 409, 415, 422, 431} <= statuses.keys(), statuses
    assert statuses[422] > REQUESTS / 5, statuses
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
