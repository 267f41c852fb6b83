"""Writes the event log of a store: what changed, each once, whenever a process dies.

The store keeps changes until they are on disk, and the files know up to which one they are. Of the
services on a store, the one writes that holds the folder. The store knows how far the log has come,
which moves on only from where the writer believes it to be, so that no two of them write one log.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from faircascade.service.event_log.folder import FORMAT, LogFolder, Position
from faircascade.service.event_log.initial_state import NOT_LOGGED, write_state
from faircascade.service.event_log.records import Records
from faircascade.service.event_log.rotation import Rotation
from faircascade.service.event_log.rows import Outcome, outcome_of, row_of, table_of
from faircascade.service.event_log.segment import Piece
from faircascade.service.service import EVENT_LOG, Service
from faircascade.service.stores.base import Slots, StoreDown
from faircascade.service.stores.changes import Change

log = logging.getLogger(__name__)

T = TypeVar("T")

CHUNK = 500
"""Changes that are written at a time, so that requests need not wait for long."""
MOST_NAMES = 100_000
"""Items whose names are at hand."""
PAUSE = 1.0
"""Seconds between looks for changes, where there was less than that."""
_OTHER = "another service writes the event log of this store, or it was ended"
_WAYS = "; give the folder that goes with it, or end the log with 'faircascade store unlog'"
FOLLOWED = 1.0
"""Seconds in which other services notice that changes are to be kept."""


class LogStopped(ValueError):  # noqa: N818 - it says what is the matter
    """The log cannot be written by this service any more."""


class LogWriter:
    """Writes the log of the store of a service to a folder."""

    def __init__(
        self,
        service: Service,
        folder: LogFolder,
        rotation: Rotation | None = None,
        *,
        followed: float = FOLLOWED,
    ) -> None:
        self._service = service
        self._store = service.store
        self._folder = folder
        self._rotation = rotation or Rotation()
        self._followed = followed
        self._kept: dict[str, Any] = {}
        """What the store has under `EVENT_LOG`."""
        self._cursor = ""
        self._catalogue = 0
        self._meta: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        """Of items, by their slots."""
        self._writes = False

    # beginning

    async def start(self) -> bool:
        """Take the folder and go on with the log of the store, or begin it with all that the store
        holds; False if another service writes it."""
        if not await asyncio.to_thread(self._folder.lock):
            return False
        try:
            at = await asyncio.to_thread(self._folder.resume)
            kept = await self._store.get_meta(EVENT_LOG)
            if kept is None or not kept["ready"]:
                await self._begin(kept)
            elif at is None or at.log != kept["log"]:
                raise ValueError(
                    f"{self._folder.path}: the store is logged to another folder{_WAYS}"
                )
            else:
                await self._go_on(at, kept)
        except BaseException:
            self._folder.unlock()
            raise
        self._writes = True
        return True

    async def _begin(self, before: Any) -> None:
        """Begin a log with all that the store holds."""
        new = {"log": secrets.token_urlsafe(9), "ready": False, "read": ""}
        await self._replace(before, new)
        try:
            await self._write_state(new)
        except ValueError:
            self._service.log_changes(False)
            await self._store.replace_meta(EVENT_LOG, new, None)
            raise

    async def _write_state(self, new: dict[str, Any]) -> None:
        """Write all that the store holds, if nobody changes it."""
        self._service.log_changes(True)
        await asyncio.sleep(self._followed)  # others keep changes, too
        mark = await self._mark()
        self._cursor, self._catalogue = mark[0], mark[2]
        head = {**self._head(mark[2]), "log": new["log"], "after": mark[0], "cursor": mark[0]}
        dim = self._store_dim
        with await asyncio.to_thread(self._folder.base, dim, head) as file:
            await write_state(self._store, file, dim)
            if await self._mark() != mark:
                raise ValueError(
                    f"{self._folder.path}: a log begins with all that the store holds, and other "
                    "services wrote to it meanwhile; stop them for this start"
                )
        await self._replace(new, {**new, "ready": True, "read": mark[0]})
        await self._store.drop_changes(mark[0])

    async def _mark(self) -> tuple[str, str, int]:
        """Return where changes and events end, and the version of the catalogue."""
        cursor, counts = await self._store.counts()
        ends = []
        for read, after in (
            (self._store.changes, ""),
            (self._store.events, cursor if counts is not None else ""),
        ):
            while found := await read(after, 1_000):
                after = found[-1][0]
            ends.append(after)
        return ends[0], ends[1], await self._store.catalogue_version()

    async def _go_on(self, at: Position, kept: Mapping[str, Any]) -> None:
        """Go on where the files end."""
        if kept["read"] not in (at.cursor, at.after):
            raise ValueError(
                f"{self._folder.path}: does not end where the log of the store is. It went on in "
                f"another folder, files are missing, or the store was restored{_WAYS}"
            )
        self._kept, self._cursor, self._catalogue = dict(kept), at.cursor, at.catalogue
        self._service.log_changes(True)
        await self._advance()

    async def _replace(self, before: Any, value: dict[str, Any]) -> None:
        """Say in the store how far the log has come."""
        if not await self._store.replace_meta(EVENT_LOG, before, value):
            raise LogStopped(_OTHER)
        self._kept = value

    async def _advance(self) -> None:
        """Let the store drop what is on disk."""
        await self._replace(self._kept, {**self._kept, "read": self._cursor})
        await self._store.drop_changes(self._cursor)

    # writing

    async def run(self, _: Service | None = None) -> None:
        """Write until cancelled; then write what is left."""
        down = ""
        try:
            while True:
                try:
                    if not self._writes:
                        await _whole(self.start())
                    elif await _whole(self.step()):
                        continue
                    if down:
                        log.info("the event log goes on", extra={"folder": str(self._folder.path)})
                    down = ""
                except LogStopped:
                    raise
                except (StoreDown, OSError, ValueError) as error:
                    if str(error) != down:
                        about = {"folder": str(self._folder.path), "reason": str(error)}
                        log.error("the event log waits; nothing is lost", extra=about)
                    down = str(error)
                    self._service.log_status.problem = down
                except Exception:  # go on: what is not written waits in the store
                    log.exception("the event log failed")
                    self._service.log_status.problem = "an internal error"
                await asyncio.sleep(PAUSE)
        except LogStopped as error:
            log.error("the event log is not written any more", extra={"reason": str(error)})
            self._writes = False
            self._service.log_status.stopped(str(error))
            self._folder.unlock()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Write what is left into whole files, and give the folder back."""
        if not self._writes:
            return
        self._writes = False
        try:
            while await self.step():
                pass
            await asyncio.to_thread(self._folder.rotate)
        except (StoreDown, LogStopped, OSError) as error:  # the next start goes on here
            log.warning("the event log ends early", extra={"reason": str(error)})
        finally:
            self._service.log_status.stopped("")
            self._folder.unlock()

    async def step(self) -> bool:
        """Write some changes; return whether there are more."""
        if self._cursor != self._kept["read"]:  # the store was down
            await self._advance()
        now = self._service.clock()
        found = await self._store.changes(self._cursor, CHUNK)
        if found and await self._store.get_meta(EVENT_LOG) != self._kept:
            raise LogStopped(_OTHER)  # some changes may have been dropped before we read them
        changes = [change for _, change in found]
        outcomes = [outcome for change in changes if (outcome := outcome_of(change)) is not None]
        await self._know_items([shown.slots for shown, _ in outcomes])
        records = Records(self._store_dim)
        cursor = found[-1][0] if found else self._cursor
        catalogue, meta = await self._follow(records)
        rows = 0
        if changes or len(records):
            head = {**self._head(catalogue), "log": self._kept["log"]}
            head |= {"after": self._cursor, "cursor": cursor, "began": time.time()}
            piece = await asyncio.to_thread(self._piece, head, changes, outcomes, records)
            await asyncio.to_thread(self._folder.append, piece)
            self._catalogue, self._meta = catalogue, self._meta | meta
            rows = piece.rows.num_rows
        if changes:
            self._cursor = cursor
            await self._advance()
        self._service.log_status.wrote(now, rows, behind=len(found) == CHUNK)
        began = self._folder.began
        if began is not None and self._rotation.is_due(self._folder.size, time.time() - began):
            await asyncio.to_thread(self._folder.rotate)
        return len(found) == CHUNK

    def _piece(
        self,
        head: Mapping[str, Any],
        changes: Sequence[Change],
        outcomes: Sequence[Outcome],
        records: Records,
    ) -> Piece:
        """Return changes as they are written; what was read as it is comes first."""
        for change in changes:
            records.change(change)
        rows = [row_of(*outcome, self._names) for outcome in outcomes]
        return Piece(head=head, records=records.table(), rows=table_of(rows))

    async def _know_items(self, slates: Sequence[Slots]) -> None:
        """Know the names of the items of slates, which never change."""
        new = {slot for slots in slates for slot in slots.tolist()} - self._names.keys()
        if not all(map(self._service.catalogue.knows, new)):
            await self._service.follow_catalogue()
        if len(self._names) > MOST_NAMES:
            self._names = {}
            new = {slot for slots in slates for slot in slots.tolist()}
        found = self._service.catalogue.names(np.array(list(new), dtype=np.int32))
        self._names.update(zip(new, found, strict=True))

    async def _follow(self, records: Records) -> tuple[int, dict[str, Any]]:
        """Add items and small values that changed; return the catalogue's version, and these."""
        version = await self._store.catalogue_version()
        if version != self._catalogue:
            version, items = await self._store.items(self._catalogue)
            for item in items:
                records.item(item, item.version)
        changed: dict[str, Any] = {}
        async for values in self._store.contents().meta():
            for name, value in values.items():
                if name not in NOT_LOGGED and self._meta.get(name, _NOTHING) != value:
                    records.meta(name, value)
                    changed[name] = value
        return version, changed

    @property
    def _store_dim(self) -> int:
        return self._service.dim + self._service.topics

    def _head(self, catalogue: int) -> dict[str, Any]:
        """Return what is known of all that is written now, with a version of the catalogue."""
        return {
            "format": FORMAT,
            "dim": self._store_dim,
            "topics": self._service.topics,
            "sums": self._service.width,
            "ttl": self._service.settings.ttl,
            "catalogue": catalogue,
        }


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Return what work returns; who is cancelled meanwhile waits until it is done, as a thread may
    be writing."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


_NOTHING = object()
