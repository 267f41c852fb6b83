"""Learn a log into a store before it is served, once.

What a log teaches is computed as a whole, and always comes to the same bits. Users are then put
into the store, which leaves those alone that it has: after a crash the same start again ends in the
very same sums.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from faircascade.data.base import DataError, Progress
from faircascade.data.log import Log
from faircascade.data.log.row_streams import files_of
from faircascade.history import LearnedLog, LogReader, UserSums, check_learnable, learn_sums
from faircascade.service.catalogue.sources import RankerFile
from faircascade.service.lineup.models import version_of
from faircascade.service.service import Service
from faircascade.service.stores.base import Store

log = logging.getLogger(__name__)

LEARNED = "learned"
"""Name under which a store remembers the log that was learned last."""
CHUNK = 2_000
"""Users that are written at once."""
TELL_SECONDS = 10.0
"""Seconds from one line about a long log to the next."""


@dataclass(frozen=True, kw_only=True)
class History:
    """A log to learn from."""

    path: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of `Log`."""
    new_users: bool = False
    """Whether a store with users is fine: they stay as they are, and only others are learned."""

    @property
    def label(self) -> str:
        """What messages call it."""
        return str(self.path)

    @cached_property
    def log(self) -> Log:
        """The log, open."""
        return Log(self.path, **self.settings)

    @cached_property
    def fingerprint(self) -> str:
        """Text that changes with the files of the log and how they are read."""
        path = self.path.expanduser()
        files = files_of(path) if path.is_dir() else [path]
        digest = hashlib.sha256(json.dumps(dict(self.settings), sort_keys=True).encode())
        for file in files:
            try:
                with file.open("rb") as opened:
                    digest.update(hashlib.file_digest(opened, "sha256").digest())
            except OSError as error:
                raise DataError(f"{file}: cannot be read ({error.strerror})") from None
        return digest.hexdigest()[:16]


async def learn_history(service: Service, history: History) -> str:
    """Learn a log into the store of a service, unless that was done; return a summary."""
    store, label = service.store, history.label
    kept = await store.get_meta(LEARNED)
    history.log  # noqa: B018 - a wrong file or column is told first
    ours = {
        "from": label,
        "fingerprint": await asyncio.to_thread(lambda: history.fingerprint),
        "with": _basis(service),
    }
    same_log = kept is not None and kept["fingerprint"] == ours["fingerprint"]
    if same_log and kept["complete"]:
        return f"{label}: learned before; what users have taught since is kept"
    if kept is not None and not kept["complete"]:
        if not same_log or kept["with"] != ours["with"]:
            raise ValueError(
                f"{label}: this store was left in the middle of learning {kept['from']}; start "
                f"with --learn {kept['from']}, the same policy and the same items, or use "
                "another --store"
            )
    elif not history.new_users and (why := await why_in_use(store, kept)):
        raise ValueError(
            f"{label}: a log needs a store without users, as it may hold what they taught, and "
            f"this one {why}; use another --store, leave --learn out, or learn of users that it "
            "does not know with --learn-new-users"
        )
    found, report = await _in_thread(service, history.log)
    if not report.impressions:
        raise ValueError(f"{label}: teaches nothing; {'; '.join(report.reasons)}")
    await store.set_meta(LEARNED, {**ours, "complete": False})
    for first in range(0, len(found.users), CHUNK):
        some = slice(first, first + CHUNK)
        sums = service.sums_of(found.sums[some])
        await store.put_users(found.users[some], sums, found.rounds[some])
    await store.set_meta(LEARNED, {**ours, "complete": True})
    accounts = "" if service.learner.ledger_scope is None else "; accounts of exposure start anew"
    return f"{label}: learned {report}{accounts}"


async def refuse_half_learned(store: Store) -> None:
    """Refuse a store that was left in the middle of learning a log, unless that goes on."""
    kept = await store.get_meta(LEARNED)
    if kept is not None and not kept["complete"]:
        raise ValueError(
            f"this store was left in the middle of learning {kept['from']}; start again with "
            f"--learn {kept['from']}, or use another --store"
        )


async def why_in_use(store: Store, kept: Any) -> str:
    """Return what says that a store has users, or nothing."""
    if kept is not None:
        return f"learned {kept['from']}"
    ranker = await store.get_meta(RankerFile.kind)
    if ranker is not None:
        return f"has the users of {ranker['from']}"
    cursor, _ = await store.counts()
    if cursor not in ("", "0") or await store.events("", 1):
        return "has handed out slates"
    return ""


async def _in_thread(service: Service, source: Log) -> tuple[UserSums, LearnedLog]:
    """Learn in a thread, which ends soon if the start is interrupted."""
    stop, told = Event(), monotonic()

    def watch(what: str, done: int, total: int) -> None:
        nonlocal told
        if stop.is_set():
            raise InterruptedError("the start of the service was interrupted")
        if monotonic() - told > TELL_SECONDS:
            told = monotonic()
            log.info("learning from a log", extra={"step": what, "done": done, "total": total})

    try:
        return await asyncio.to_thread(_learned, service, source, watch)
    finally:
        stop.set()


def _learned(service: Service, source: Log, watch: Progress) -> tuple[UserSums, LearnedLog]:
    """Return what a log teaches the policy of a service about its items."""
    check_learnable(service.learner, source)
    reader = LogReader(source, service.catalogue.items, service.catalogue.rows)
    try:
        found = learn_sums(service.learner, reader, progress=watch)
    except FloatingPointError as error:
        raise ValueError(
            f"{source.name} cannot be learned: {error}; check the scale of the features, sigma and "
            "the reward weights"
        ) from error
    return found, reader.report()


def _basis(service: Service) -> str:
    """Return a text that changes with anything but the log that sums depend on."""
    items = service.catalogue.items
    digest = hashlib.sha256(version_of(service.learner).encode())
    digest.update(json.dumps(list(service.catalogue.rows)).encode())
    digest.update(items.features.tobytes())
    digest.update(items.topics.tobytes())
    return digest.hexdigest()[:16]
