"""A bad network: it carries a request to a server and loses the reply."""

from __future__ import annotations

import asyncio


class LossyNetwork:
    """Listens on the loopback and passes everything on, until it is told to lose replies."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._lose = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Where to connect to Redis."""
        return f"redis://127.0.0.1:{self.port}/0"

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
        answers, forth = await asyncio.open_connection("127.0.0.1", self._server_port)
        requests = asyncio.create_task(self._pass_on(client, forth))
        try:
            while reply := await answers.read(2**16):
                if self._lose and self.matters(reply):
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

    async def _pass_on(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while request := await client.read(2**16):
            server.write(request)
            await server.drain()

    def matters(self, reply: bytes) -> bool:
        """Tell an answer from the greetings of a new connection, which are all right."""
        return reply.replace(b"+OK\r\n", b"") != b""


class LossyPostgreSQL(LossyNetwork):
    """Loses replies of PostgreSQL."""

    def matters(self, reply: bytes) -> bool:
        """Tell the reply of a statement that was run, or a commit, from preparations."""
        return b"2\0\0\0\4" in reply or b"COMMIT\0" in reply
