"""A bad network: it carries a request to Redis and loses the reply."""

from __future__ import annotations

import asyncio


class LossyNetwork:
    """Listens on the loopback and passes everything on, until it is told to lose replies."""

    def __init__(self, port: int) -> None:
        self._redis = port
        self._lose = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where to connect."""
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    def lose(self, replies: int) -> None:
        """Close the connection in place of passing on each of the next replies."""
        self._lose = replies

    @property
    def lost_all(self) -> bool:
        """True when every reply that was to be lost is lost."""
        return self._lose == 0

    async def __aenter__(self) -> LossyNetwork:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connect(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        redis, forth = await asyncio.open_connection("127.0.0.1", self._redis)
        requests = asyncio.create_task(self._pass_on(client, forth))
        try:
            while reply := await redis.read(2**16):
                if self._lose and self._greeted(reply):
                    self._lose -= 1
                    return
                back.write(reply)
        except (asyncio.CancelledError, OSError):
            pass
        finally:
            requests.cancel()
            await asyncio.gather(requests, return_exceptions=True)
            for writer in (back, forth):
                writer.close()
            self._tasks.discard(task)

    async def _pass_on(self, client: asyncio.StreamReader, redis: asyncio.StreamWriter) -> None:
        while request := await client.read(2**16):
            redis.write(request)
            await redis.drain()

    def _greeted(self, reply: bytes) -> bool:
        """Tell an answer from the greetings of a new connection, which are all right."""
        return reply.replace(b"+OK\r\n", b"") != b""
