"""The connection of a PostgreSQL store: a pool, and statements that are retried while the server
is away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from faircascade.errors import ParameterError
from faircascade.installation import install_command
from faircascade.service.stores.base import StoreDown, StoreLost
from faircascade.service.stores.registry import public_address

T = TypeVar("T")
Connection = Any
"""One of asyncpg, which has no types."""
Pool = Any
Job = Callable[[Connection], Awaitable[T]]
"""Statements on one connection; what it does twice must do no harm."""

CONNECTIONS = 10
"""Most connections that a service has."""
_STATEMENT_SECONDS = 120
"""After how long the server ends a statement that nobody may be waiting for any more."""
_IDLE_SECONDS = 10
"""After how long the server ends a transaction in which a service stopped."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.3

# What the server says while it cannot work now, by the beginning of its codes.
_PASSING = ("08", "25006", "25P03", "40", "53", "55P03", "57", "58")
# Codes with which a session ends; its last statement may have been committed all the same.
_SESSION_ENDED = ("08", "25P03", "57P")
# Tables, functions, the schema or the database are gone, or the tables are another store's.
_LOST = ("FC001", "42P01", "42883", "3F000", "3D000")
_REFUSED = ("28", "3D000", "42501")
"""Codes of what an administrator has to put right before a store can be opened."""


class Unanswered(StoreDown):
    """No reply came although a statement had been sent; it may have been run."""


class PostgreSQLConnection:
    """A pool of connections that see the tables of one schema."""

    def __init__(self, url: str, *, schema: str, patience: float) -> None:
        self._url = url
        self._schema = schema
        self._patience = patience
        self.name = f"postgresql at {public_address(url).partition('://')[2]}"
        self._pool: Pool = None
        self.opened = False
        """True if the store was found here: what is missing from then on was lost."""

    async def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(self._patience):
                await pool.close()
        except _troubles():
            pool.terminate()

    async def run(self, job: Job[T], *, extra: float = 0.0) -> T:
        """Return what a job returns; it is done again while the server cannot be used.

        `StoreDown` says that patience is over, `Unanswered` that the job may have been done all the
        same. Work that takes long may be given extra seconds of patience.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience
        pause = _FIRST_PAUSE
        perhaps_run = False
        while True:
            attempt = _Attempt(await self._connections(), job)
            try:
                # Half of the time, so that one silent connection does not cost all of it.
                limit = min(self._patience / 2, deadline - clock())
                return await attempt.result(limit, extra)
            except _troubles() as error:
                code = getattr(error, "sqlstate", None) or ""
                if self.opened and code in _LOST:
                    raise self.lost() from error
                if not self.opened and code.startswith(_REFUSED):
                    raise ValueError(f"{self.name} cannot be opened: {error}") from error
                if not _passes(error):
                    raise
                perhaps_run = perhaps_run or attempt.perhaps_run(code)
                if clock() + pause >= deadline:
                    reason = str(error) or "no answer in time"
                    kind = Unanswered if perhaps_run else StoreDown
                    raise kind(f"{self.name} cannot be used now: {reason}") from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def transaction(self, job: Job[T], *, extra: float = 0.0) -> T:
        """Run a job in a transaction, all of it or nothing."""

        async def whole(db: Connection) -> T:
            async with db.transaction():
                return await job(db)

        return await self.run(whole, extra=extra)

    async def fetch(self, sql: str, *values: Any, extra: float = 0.0) -> list[Any]:
        """Return the rows of a statement."""

        async def job(db: Connection) -> list[Any]:
            found: list[Any] = await db.fetch(sql, *values)
            return found

        return await self.run(job, extra=extra)

    async def value(self, sql: str, *values: Any) -> Any:
        """Return the first value of the first row of a statement, None if there is none."""
        rows = await self.fetch(sql, *values)
        return rows[0][0] if rows else None

    def lost(self) -> StoreLost:
        """Return what to raise if the database was emptied: all users would start from nothing."""
        advice = "has lost its data; restore it, then restart the service"
        return StoreLost(f"{self.name} {advice}", advice=advice)

    async def _connections(self) -> Pool:
        if self._pool is None:
            asyncpg = driver()
            self._pool = await asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=CONNECTIONS,
                init=_keep_commits,
                reset=_keep_settings,
                timeout=self._patience,
                server_settings={
                    "application_name": "faircascade",
                    "search_path": self._schema,
                    "default_transaction_isolation": "read committed",
                    "statement_timeout": str(1000 * _STATEMENT_SECONDS),
                    "idle_in_transaction_session_timeout": str(1000 * _IDLE_SECONDS),
                },
            )
        return self._pool


class _Attempt(Generic[T]):
    """A job that is done once."""

    def __init__(self, pool: Pool, job: Job[T]) -> None:
        self._pool = pool
        self._job = job
        self._sent = False

    async def result(self, limit: float, extra: float) -> T:
        # Connected before anything is sent: a failure to connect has done nothing.
        async with asyncio.timeout(limit):
            connection = await self._pool.acquire()
        self._sent = True
        try:
            async with asyncio.timeout(limit + extra):
                return await self._job(connection)
        except BaseException as error:
            if getattr(error, "sqlstate", None) is None:
                connection.terminate()  # its statement may still be running
            raise
        finally:
            await self._pool.release(connection)

    def perhaps_run(self, code: str) -> bool:
        """Tell whether the job may have been done, although it failed with this code, if any."""
        return self._sent and (not code or code.startswith(_SESSION_ENDED))


async def _keep_commits(db: Connection) -> None:
    """Let no commit be acknowledged before it is on disk, whatever the server's settings say."""
    await db.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


async def _keep_settings(_: Connection) -> None:
    """Do nothing when a connection goes back to the pool: nobody changes its settings."""


def checked_url(address: str) -> str:
    """Return an address of a database, or refuse it."""
    try:
        parts = urlsplit(address)
        _ = parts.port
        fine = len(parts.path) > 1
    except ValueError:
        fine = False
    if not fine:
        rule = "must look like postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
        raise ParameterError("store", rule, _public(address))
    return address


def _public(address: str) -> str:
    try:
        return public_address(address)
    except ValueError:
        return address.partition(":")[0] + "://..."


def driver() -> Any:
    """Return asyncpg, or say how to get it."""
    try:
        import asyncpg
    except ModuleNotFoundError:
        raise ValueError(
            f"a store on PostgreSQL needs asyncpg: {install_command('postgres')}"
        ) from None
    return asyncpg


def _troubles() -> tuple[type[Exception], ...]:
    """Return what may be raised while a server cannot be used.

    asyncpg raises an internal error where a connection ends at a bad moment.
    """
    asyncpg = driver()
    ours = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
    return (OSError, *ours)  # a TimeoutError is an OSError


def _passes(error: Exception) -> bool:
    """Tell whether the same job may succeed later."""
    code = getattr(error, "sqlstate", None)
    if code is not None:
        return str(code).startswith(_PASSING)
    if isinstance(error, OSError):  # TimeoutError is one
        return True
    return "connection" in str(error) or "in progress" in str(error)
