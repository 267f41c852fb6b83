"""The way of events from a source to the service: read, deliver, commit."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from faircascade.service.imports.delivery import Counts, Delivered, Delivery
from faircascade.service.imports.events import Record, Refusal
from faircascade.service.imports.order import Read, spans
from faircascade.service.imports.outage import Outage
from faircascade.service.imports.refusals import RefusedFile
from faircascade.service.imports.service_client import ServiceClient
from faircascade.service.imports.sources.base import EventSource, SourceDown

T = TypeVar("T")

log = logging.getLogger(__name__)

GRACE_SECONDS = 10.0
"""Seconds that events under way have once the import is asked to stop."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
"""Seconds before another attempt at a source that does not answer."""

Watch = Callable[[Counts, float | None], None]
"""Called with what was done so far, and the share of the whole if that is known."""


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """What an import did."""

    counts: Counts
    seconds: float
    finished: bool
    """False if it was stopped before the end of its source."""

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        rate = self.counts.events / self.seconds if self.seconds else 0.0
        return {
            **asdict(self.counts),
            "seconds": round(self.seconds, 3),
            "events_per_second": round(rate, 1),
            "finished": self.finished,
        }


class _Stopped(Exception):  # noqa: N818 - it says what is the matter
    """There is no time to wait any longer."""


class Importer:
    """Reads some events, delivers them while the next are read, and commits while those are
    delivered: so nothing is committed before the service has acknowledged it and all before it.
    """

    def __init__(
        self,
        source: EventSource,
        client: ServiceClient,
        *,
        refused: RefusedFile | None = None,
        batch: int = 250,
        requests: int = 4,
        watch: Watch = lambda counts, share: None,
    ) -> None:
        """Bring what is refused to a file, or leave that to the source."""
        self._source = source
        self._client = client
        self._refused = refused
        self._delivery = Delivery(client, batch=batch, requests=requests)
        self._window = batch * requests
        self._watch = watch
        self._stop = asyncio.Event()
        self._outage = Outage("source")
        self._counts = Counts()
        self._committing: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Finish what is under way, and no more."""
        self._stop.set()

    async def run(self) -> ImportResult:
        """Import until the source ends, or until told to stop."""
        begin = time.monotonic()
        finished = False
        try:
            await self._unless_stopped(self._client.check())
            await self._unless_stopped(self._patiently(self._source.open))
            if self._refused is not None:
                self._refused.open()
            log.info("importing %s into %s", self._source.name, self._client.url)
            finished = await self._go_on()
        except _Stopped:
            log.warning("stopped while waiting; what was under way is sent again next time")
        finally:
            await self._source.close()
            if self._refused is not None:
                self._refused.close()
        seconds = time.monotonic() - begin
        return ImportResult(counts=self._counts, seconds=seconds, finished=finished)

    async def _go_on(self) -> bool:
        """Return whether the end of the source was reached."""
        windows: asyncio.Queue[Sequence[Record] | None] = asyncio.Queue(maxsize=1)
        reading = asyncio.create_task(self._read(windows))
        records: Sequence[Record] | None = ()
        try:
            while not self._stop.is_set():
                records = await self._unless_stopped(windows.get())
                if records is None:
                    break
                for erasures, span in spans(records):
                    if not self._stop.is_set():
                        await self._bring(span, alone=erasures)
            await self._committed()
            return records is None and await reading
        finally:
            for task in (reading, self._committing):
                if task is not None and not task.done():
                    task.cancel()
                    await asyncio.wait({task})

    async def _bring(self, span: Sequence[Read], *, alone: bool) -> None:
        """Deliver events while those before them are committed; or, alone, after and before all
        others."""
        if alone:
            await self._committed()
        delivered = await self._unless_stopped(self._delivery.deliver(span))
        await self._committed()
        records = [record for record, _ in span]
        self._committing = asyncio.create_task(self._commit(records, delivered))
        if alone:
            await self._committed()

    async def _committed(self) -> None:
        """Return when what was delivered so far is committed."""
        if self._committing is not None:
            await self._unless_stopped(self._committing)

    async def _read(self, windows: asyncio.Queue[Sequence[Record] | None]) -> bool:
        """Read ahead of the delivery; True at the end of the source."""
        try:
            while not self._stop.is_set():
                records = await self._patiently(lambda: self._source.read(self._window))
                if records is None:
                    break
                if records:
                    await windows.put(records)
        except Exception:
            await windows.put(None)
            raise
        await windows.put(None)
        return not self._stop.is_set()

    async def _commit(self, records: Sequence[Record], delivered: Delivered) -> None:
        refusals: Sequence[Refusal] = delivered.in_order()
        if self._refused is not None:
            if refusals:
                await asyncio.to_thread(self._refused.write, refusals)
            refusals = ()
        await self._patiently(lambda: self._source.commit(records, refusals))
        self._counts.add(delivered.counts)
        self._watch(self._counts, self._source.share())

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call the source until it answers."""
        pause = _FIRST_PAUSE
        while True:
            try:
                value = await call()
            except SourceDown as error:
                self._outage.failed(str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._outage.over()
                return value

    async def _unless_stopped(self, work: Awaitable[T]) -> T:
        """Return what comes of it; once told to stop, do not wait for what does not answer."""
        task = asyncio.ensure_future(work)
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            until = time.monotonic() + GRACE_SECONDS
            while not task.done() and time.monotonic() < until and not self._is_out:
                await asyncio.wait({task}, timeout=0.05)
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if task.cancelled():
            raise _Stopped
        return task.result()

    @property
    def _is_out(self) -> bool:
        return self._client.outage.lasts or self._outage.lasts
