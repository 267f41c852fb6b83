"""A load generator: many connections, requests at a fixed rate, latencies as a client sees them.

Requests are sent when they are due, not when the answer before has come, and a latency counts from
then: a service that falls behind cannot hide it. Raw HTTP/1.1 on asyncio, because a full client
would need more of the two cores than the service.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson


class Connection(asyncio.Protocol):
    """One kept-alive connection; a request at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._buffer.find(b"content-length: ") + 16
        length = int(self._buffer[start : self._buffer.find(b"\r", start)])
        body = self._buffer[end + 4 :]
        if len(body) >= length and self._answer is not None:
            status = int(self._buffer[9:12])
            self._buffer = body[length:]
            answer, self._answer = self._answer, None
            if not answer.done():
                answer.set_result((status, body[:length]))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("connection closed"))

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send JSON and return the status and the JSON that came back."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("connection closed")
        self._answer = asyncio.get_running_loop().create_future()
        answer = self._answer
        self._transport.write(
            b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        )
        return await answer

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


async def connect(host: str, port: int) -> Connection:
    """Open a connection."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection


@dataclass
class Seen:
    """What clients saw."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Latencies by request."""
    errors: list[str] = field(default_factory=list)
    pairs: int = 0
    wall: float = 0.0

    def add(self, name: str, seconds: float) -> None:
        """Note one latency."""
        self.seconds.setdefault(name, []).append(seconds)

    def table(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "pairs": self.pairs,
            "pairs_per_second": round(self.pairs / self.wall, 1),
            "errors": len(self.errors),
            "first_errors": self.errors[:3],
            **{
                name: {
                    f"p{q:g}_ms": round(1e3 * float(np.percentile(values, q)), 2)
                    for q in (50, 95, 99, 99.9, 100)
                }
                for name, values in self.seconds.items()
            },
        }


def click(user: int, turn: int, length: int) -> int | None:
    """Return where a made-up user clicks: nowhere in four of ten slates, mostly near the top."""
    draw = (user * 2654435761 + turn * 40503) % 1000 / 1000
    return None if draw < 0.4 else 1 + int((draw - 0.4) / 0.6 * length) % length


async def pair(
    connection: Connection, user: int, turn: int, due: float, seen: Seen, k: int, more: bytes = b""
) -> None:
    """One slate and its answer; `more` are further fields of the request."""
    ask = b'{"user":"user-%d","k":%d%b}' % (user, k, more)
    status, shown = await connection.post("/v1/recommendations", ask)
    seen.add("recommend", time.perf_counter() - due)
    if status != 200:
        seen.errors.append(f"recommend {status} {shown!r}")
        return
    start = shown.find(b'"impression_id":"') + 17
    name = shown[start : shown.find(b'"', start)]
    clicked = click(user, turn, k)
    answer = b'{"impression_id":"%b","clicked_position":%b}' % (
        name,
        b"null" if clicked is None else b"%d" % clicked,
    )
    begin = time.perf_counter()
    status, told = await connection.post("/v1/feedback", answer)
    seen.add("feedback", time.perf_counter() - begin)
    if status != 200:
        seen.errors.append(f"feedback {status} {told!r}")
        return
    seen.pairs += 1


async def at_rate(
    host: str, port: int, *, rate: float, seconds: float, users: int, connections: int, k: int
) -> Seen:
    """Send pairs at a rate, each when it is due."""
    seen = Seen()
    free = [await connect(host, port) for _ in range(connections)]
    waiting: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in free:
        waiting.put_nowait(connection)

    async def one(turn: int, due: float) -> None:
        connection = await waiting.get()
        try:
            await pair(connection, turn * 7919 % users, turn, due, seen, k)
        except (TimeoutError, OSError) as error:
            seen.errors.append(repr(error))
            connection.close()
            connection = await connect(host, port)
        finally:
            waiting.put_nowait(connection)

    begin = time.perf_counter()
    tasks = set()
    for turn in range(int(rate * seconds)):
        due = begin + turn / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(one(turn, due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    while tasks:
        await asyncio.wait(list(tasks))
    seen.wall = time.perf_counter() - begin
    for connection in free:
        connection.close()
    return seen


async def one_client(
    host: str, port: int, *, pairs: int, users: int, k: int, exclude: int = 0
) -> Seen:
    """One client that waits for each answer before the next request."""
    seen, connection = Seen(), await connect(host, port)
    begin = time.perf_counter()
    for turn in range(pairs):
        left_out = [f"item-{turn % 100 + n}" for n in range(exclude)]
        more = b',"exclude":' + orjson.dumps(left_out) if exclude else b""
        await pair(connection, turn * 7919 % users, turn, time.perf_counter(), seen, k, more)
    seen.wall = time.perf_counter() - begin
    connection.close()
    return seen


async def in_batches(
    host: str,
    port: int,
    *,
    size: int,
    seconds: float,
    users: int,
    connections: int,
    k: int,
    each: Callable[[Seen], Awaitable[None]] | None = None,
    pairs: int | None = None,
    exclude: int = 0,
) -> Seen:
    """Clients that send batches one after the other, for some seconds or so many pairs.

    Each request leaves out so many items, others than the ones beside it.
    """
    seen = Seen()
    begin = time.perf_counter()

    def over() -> bool:
        return time.perf_counter() - begin > seconds or (pairs is not None and seen.pairs >= pairs)

    async def client(number: int) -> None:
        connection, turn = await connect(host, port), number
        while not over():
            turn += connections
            names = [(turn * size + n) * 7919 % users for n in range(size)]
            start = time.perf_counter()
            asks: dict[str, list[dict[str, Any]]] = {
                "requests": [{"user": f"user-{name}", "k": k} for name in names]
            }
            for n, ask in enumerate(asks["requests"] if exclude else ()):
                ask["exclude"] = [f"item-{n + other}" for other in range(exclude)]
            status, told = await connection.post("/v1/recommendations/batch", orjson.dumps(asks))
            seen.add("recommend", time.perf_counter() - start)
            slates = orjson.loads(told)
            if status != 200 or any(r["status"] != 200 for r in slates["results"]):
                seen.errors.append(f"recommend {status} {str(slates)[:200]}")
                continue
            shown = [result["recommendation"] for result in slates["results"]]
            answers = [
                {
                    "impression_id": one["impression_id"],
                    "clicked_position": click(name, turn, len(one["items"])),
                }
                for name, one in zip(names, shown, strict=True)
            ]
            start = time.perf_counter()
            body = orjson.dumps({"feedback": answers})
            status, told = await connection.post("/v1/feedback/batch", body)
            seen.add("feedback", time.perf_counter() - start)
            if status != 200 or any(r["status"] != 200 for r in orjson.loads(told)["results"]):
                seen.errors.append(f"feedback {status} {str(told)[:200]}")
                continue
            seen.pairs += size
            if each is not None:
                await each(seen)
        connection.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    seen.wall = time.perf_counter() - begin
    return seen


async def in_closed_loop(
    host: str, port: int, *, seconds: float, users: int, connections: int, k: int
) -> Seen:
    """Clients that ask for a slate, answer it and ask for the next, for some seconds."""
    seen, clock = Seen(), time.perf_counter
    loop = asyncio.get_running_loop()
    end, turn = clock() + seconds, 0
    over: list[asyncio.Future[None]] = []

    def post(asker: Asker, path: bytes, body: bytes) -> None:
        asker.transport.write(
            b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path, len(body), body)
        )

    def ask(asker: Asker) -> None:
        nonlocal turn
        turn += 1
        asker.due = clock()
        user = turn * 7919 % users
        post(asker, b"/v1/recommendations", b'{"user":"user-%d","k":%d}' % (user, k))

    def told(asker: Asker, status: bytes, answer: bytes) -> None:
        now = clock()
        asked = asker.due > 0
        if status != b"200":
            seen.errors.append(f"{status!r} {answer[-300:]!r}")
        else:
            seen.add("recommend" if asked else "feedback", now - abs(asker.due))
        if asked and status == b"200":
            start = answer.find(b'"impression_id":"') + 17
            name = answer[start : answer.find(b'"', start)]
            asker.due = -now
            clicked = b"1" if turn % 10 < 6 else b"null"
            body = b'{"impression_id":"%b","clicked_position":%b}' % (name, clicked)
            post(asker, b"/v1/feedback", body)
            return
        seen.pairs += not asked
        if now < end and status != b"lost":
            ask(asker)
            return
        done = over.pop()
        done.set_result(None)

    begin = clock()
    askers = []
    for _ in range(connections):
        over.append(loop.create_future())
        _, asker = await loop.create_connection(lambda: Asker(told), host, port)
        askers.append(asker)
    waited = list(over)
    for asker in askers:
        ask(asker)
    await asyncio.wait(waited)
    seen.wall = clock() - begin
    for asker in askers:
        asker._told = lambda *_: None
        asker.transport.close()
    return seen


@dataclass
class Overload:
    """What clients saw who ask however slowly they are answered."""

    seconds: list[float] = field(default_factory=list)
    """Latencies of slates, from when they were due."""
    late: list[float] = field(default_factory=list)
    """How long after they were due requests were sent: what the generator adds to latencies."""
    statuses: Counter[str] = field(default_factory=Counter)
    feedback: Counter[str] = field(default_factory=Counter)
    wall: float = 0.0

    def table(self) -> dict[str, Any]:
        """Return the figures."""
        answered, sent = self.statuses["200"], max(1, self.statuses.total())
        slates, late = np.array(self.seconds or [np.nan]), np.array(self.late or [np.nan])
        return {
            "sent_per_second": round(sent / self.wall, 1),
            "slates_per_second": round(answered / self.wall, 1),
            "p50_ms": round(1e3 * float(np.percentile(slates, 50)), 2),
            "p99_ms": round(1e3 * float(np.percentile(slates, 99)), 2),
            "share_of_503": round(self.statuses["503"] / sent, 4),
            "others": {s: n for s, n in self.statuses.items() if s not in ("200", "503")},
            "feedback": dict(self.feedback),
            "generator_late_p99_ms": round(1e3 * float(np.percentile(late, 99)), 2),
        }


class Asker(asyncio.Protocol):
    """One kept-alive connection; sends what it is told, and tells what came back."""

    def __init__(self, told: Callable[[Asker, bytes, bytes], None]) -> None:
        self.due = 0.0
        self.transport: Any = None
        self._told = told
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._buffer.find(b"content-length: ") + 16
        size = end + 4 + int(self._buffer[start : self._buffer.find(b"\r", start)])
        if len(self._buffer) >= size:
            answer, self._buffer = self._buffer[:size], self._buffer[size:]
            self._told(self, answer[9:12], answer)

    def connection_lost(self, error: Exception | None) -> None:
        self._told(self, b"lost", b"")


async def in_open_loop(
    host: str, port: int, *, rate: float, seconds: float, users: int, connections: int, k: int
) -> Overload:
    """Ask for slates at a rate that no answer slows down; answer those that come.

    A request that finds all connections taken waits for one, and its latency with it.
    """
    seen, over = Overload(), asyncio.Event()
    free: list[Asker] = []
    waiting: deque[float] = deque()
    opening: set[asyncio.Task[None]] = set()
    turn, clock = 0, time.perf_counter

    def ask(asker: Asker, due: float) -> None:
        nonlocal turn
        turn += 1
        asker.due = due
        seen.late.append(clock() - due)
        body = b'{"user":"user-%d","k":%d}' % (turn * 7919 % users, k)
        asker.transport.write(
            b"POST /v1/recommendations HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )

    def told(asker: Asker, status: bytes, answer: bytes) -> None:
        if asker.due < 0:  # it was feedback
            seen.feedback[status.decode()] += 1
        elif asker.due > 0:
            seen.statuses[status.decode()] += 1
            if status == b"200":
                seen.seconds.append(clock() - asker.due)
                start = answer.find(b'"impression_id":"') + 17
                name = answer[start : answer.find(b'"', start)]
                body = b'{"impression_id":"%b","clicked_position":1}' % name
                asker.due = -1.0
                asker.transport.write(
                    b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(body), body)
                )
                return
        asker.due = 0.0
        if status == b"lost":
            if not over.is_set():
                task = loop.create_task(open_one())
                opening.add(task)
                task.add_done_callback(opening.discard)
        elif waiting:
            ask(asker, waiting.popleft())
        else:
            free.append(asker)

    async def open_one() -> None:
        _, asker = await loop.create_connection(lambda: Asker(told), host, port)
        free.append(asker)

    loop = asyncio.get_running_loop()
    for _ in range(connections):
        await open_one()
    everybody, begin, sent = list(free), clock(), 0
    while (now := clock()) < begin + seconds:
        while sent < (now - begin) * rate:
            due = begin + sent / rate
            sent += 1
            if free:
                ask(free.pop(), due)
            else:
                waiting.append(due)
        await asyncio.sleep(0.001)
    while len(free) < connections and clock() < begin + seconds + 30:
        await asyncio.sleep(0.01)
    seen.wall = clock() - begin
    over.set()
    for asker in [*everybody, *free]:
        asker.transport.close()
    return seen
