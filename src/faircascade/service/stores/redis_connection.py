"""The connection of a Redis store: commands in pipelines, retried while Redis is unavailable."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as TimedOut

from faircascade.service.stores.base import StoreDown, StoreLost

T = TypeVar("T")
Command = Sequence[bytes | str | int | float]

_CONNECTIONS = 64
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.3
_AWAY = (Disconnected, TimedOut, TimeoutError, OSError, OutOfMemoryError, ReadOnlyError)
# Codes of other refusals that pass; older servers put the code of a script's error inside.
_PASSING = re.compile(r"(^|-)(OOM|READONLY|MISCONF|MASTERDOWN|NOREPLICAS|LOADING|BUSY|TRYAGAIN) ")


# What scripts begin with: a Redis that was emptied must not be taken for a new one.
_GUARD = (
    b"if redis.call('EXISTS', KEYS[#KEYS]) == 0 then return redis.error_reply('LOST data') end\n"
)
_LOST = "LOST "


class Unanswered(StoreDown):
    """No reply came although commands had been sent; they may have been run."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script that Redis runs as one step, unless its last key is missing: that was lost."""

    text: bytes
    digest: str

    @classmethod
    @cache
    def named(cls, name: str) -> Script:
        """Return the script in `scripts/`."""
        text = _GUARD + files(__package__).joinpath("scripts", f"{name}.lua").read_bytes()
        return cls(text, hashlib.sha1(text, usedforsecurity=False).hexdigest())

    def calls(self, calls: Iterable[tuple[Command, Command]]) -> list[Command]:
        """Return the commands that run it with keys and arguments, for one pipeline.

        The first brings the text, so that Redis knows the digest by the time of the others,
        also if it has just been restarted.
        """
        commands: list[Command] = []
        for keys, arguments in calls:
            script = ("EVALSHA", self.digest) if commands else ("EVAL", self.text)
            commands.append((*script, len(keys), *keys, *arguments))
        return commands


class RedisConnection:
    """A pool of connections.

    What is sent must be harmless to send twice: nobody knows whether a command whose reply was
    lost has been run.
    """

    def __init__(self, url: str, *, patience: float) -> None:
        self._patience = patience
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            protocol=2,
            # Waiting and trying again happen here, over all that an attempt consists of.
            timeout=None,
            socket_timeout=None,
            socket_connect_timeout=None,
            retry=Retry(NoBackoff(), 0),
        )
        place = pool.connection_kwargs  # not the address as given: it may hold a password
        self.name = "redis at " + (
            place.get("path") or f"{place.get('host', 'localhost')}:{place.get('port', 6379)}"
        )
        self._client: Redis = Redis.from_pool(pool)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def send(self, commands: Sequence[Command], *, extra: float = 0.0) -> list[Any]:
        """Return the replies to commands that are sent together, in their order.

        While Redis cannot be reached or refuses to write, they are sent again; `StoreDown` says
        that patience is over, `Unanswered` that they may have been run all the same.
        Work that takes long may be given extra seconds of patience.
        """
        clock = asyncio.get_running_loop().time
        patience = self._patience + extra
        deadline = clock() + patience
        pause = _FIRST_PAUSE
        perhaps_run = False
        while True:
            attempt = _Attempt(self._client, commands)
            try:
                # Half of the time, so that one silent connection does not cost all of it.
                limit = min(patience / 2, deadline - clock())
                async with asyncio.timeout(limit):
                    return await attempt.replies()
            except (RedisError, OSError) as error:
                if str(error).startswith(_LOST):
                    raise self.lost() from error
                if not _passes(error):
                    raise
                perhaps_run = perhaps_run or attempt.perhaps_run
                if clock() + pause >= deadline:
                    reason = str(error) or "no answer in time"
                    kind = Unanswered if perhaps_run else StoreDown
                    raise kind(f"{self.name} cannot be used now: {reason}") from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def lost(self) -> StoreLost:
        """Return what to raise if Redis was emptied: all users would start from nothing."""
        advice = "has lost its data; restore it, then restart the service"
        return StoreLost(f"{self.name} {advice}", advice=advice)

    async def durability(self) -> str | None:
        """Return a warning if the server's settings allow data loss."""
        names = ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy")
        try:
            found = await self.send([("CONFIG", "GET", name) for name in names])
        except ResponseError:  # many a hosted server forbids it
            return None
        words = [word.decode() for some in found for word in some]
        return _warning(dict(zip(words[::2], words[1::2], strict=True)))


class _Attempt:
    """Commands that are sent together, once."""

    def __init__(self, client: Redis, commands: Sequence[Command]) -> None:
        self._client = client
        self._commands = commands
        self.perhaps_run = False
        """True if some of them may have been run, whatever else went wrong."""

    async def replies(self) -> list[Any]:
        pool: Any = self._client.connection_pool  # its methods have no types
        async with self._client.pipeline(transaction=False) as pipeline:
            # Connected before anything is sent: a failure to connect has done nothing.
            pipeline.connection = await pool.get_connection()
            for command in self._commands:
                pipeline.execute_command(*command)
            self.perhaps_run = True
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
        refusals = [reply for reply in replies if isinstance(reply, Exception)]
        self.perhaps_run = len(refusals) < len(replies)
        if refusals:
            raise refusals[0]
        return replies


def _passes(error: Exception) -> bool:
    return isinstance(error, _AWAY) or bool(_PASSING.search(str(error)))


def chunks(things: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield chunks in order."""
    return (things[start : start + size] for start in range(0, len(things), size))


def _warning(settings: Mapping[str, str]) -> str | None:
    """Return what to change in the settings of a server, None if they are fine."""
    policy = settings.get("maxmemory-policy", "noeviction")
    if settings.get("maxmemory", "0") != "0" and policy != "noeviction":
        return (
            f"redis drops what was learned when its memory is full (maxmemory-policy {policy}); "
            "set maxmemory-policy to noeviction"
        )
    if settings.get("appendonly") == "no":
        return (
            "redis may lose minutes of feedback in a power cut (appendonly no); "
            "set appendonly to yes and appendfsync to always"
        )
    fsync = settings.get("appendfsync", "always")
    if fsync != "always":
        return (
            f"redis may lose seconds of feedback in a power cut (appendfsync {fsync}); "
            "set appendfsync to always"
        )
    return None
