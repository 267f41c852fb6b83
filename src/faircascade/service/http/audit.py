"""Which requests the audit log is about, and what it says of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from starlette.types import Scope

from faircascade.service.audit_log import AuditLog, now
from faircascade.service.http.access import READING
from faircascade.service.http.callers import CALLER, Caller
from faircascade.service.http.json_route import BODY
from faircascade.service.http.problems import REQUEST_ID
from faircascade.service.http.rate_limits import RateLimits, TooFast
from faircascade.service.http.schemas import ItemBatch, ItemBody
from faircascade.service.messages import Model

TRAFFIC = ("/v1/recommendations", "/v1/feedback")
"""Paths that users cause; whatever else is no reading is a change."""
REFUSALS = 1.0
"""Lines a second about what was refused: anybody can be refused, and none must fill the disk."""
REFUSALS_SECONDS = 60.0
"""Seconds whose lines may come at once."""
LARGEST_BODY = 16 * 1024
"""Bytes of a body that is noted as it is."""
_REFUSED_KEY = (401, 403)
_NOTHING_DONE = (405, 429, 503)


class Auditor:
    """Notes changes, and requests that were refused for their key."""

    def __init__(self, log: AuditLog, clock: Callable[[], float] = time.monotonic) -> None:
        self.log = log
        self._refusals = RateLimits(seconds=REFUSALS_SECONDS, clock=clock)
        self._left_out = 0

    def is_change(self, scope: Scope) -> bool:
        """Tell whether a request may change something that is no user's doing."""
        path: str = scope["path"]
        reads = scope["method"] in READING
        return not reads and path.startswith("/v1/") and not path.startswith(TRAFFIC)

    async def note(self, scope: Scope, status: int) -> None:
        """Note what became of a request, unless it is none of those; `NotAudited` if it cannot be.

        To be called before the client hears of it.
        """
        caller: Caller | None = scope.get(CALLER)
        changes = self.is_change(scope) and status not in _NOTHING_DONE
        if caller is None or not (changes or status in _REFUSED_KEY):
            return
        left_out = self._left_out
        if 400 <= status < 500:
            try:
                self._refusals.take("refusals", REFUSALS)
            except TooFast:
                self._left_out += 1
                return
        self._left_out = 0
        entry: dict[str, Any] = {
            "time": now(),
            "event": "refused key" if status in _REFUSED_KEY else "change",
            "key": caller.key,
            "address": caller.address,
            "method": scope["method"],
            "route": _route(scope),
            "target": self._target(scope),
            "status": status,
            "outcome": _outcome(status),
            "request_id": scope[REQUEST_ID],
        }
        if left_out:
            entry["refusals_left_out"] = left_out
        await self.log.note(entry)

    def _target(self, scope: Scope) -> dict[str, Any]:
        """Return what a change is about."""
        target = dict(scope.get("path_params") or {})
        if "user" in target:
            target = {"user_hash": self.log.pseudonym(target["user"])}
        body: Model | None = scope.get(BODY)
        if isinstance(body, ItemBatch):
            target["items"] = [item.item for item in body.items]
        elif body is not None and not isinstance(body, ItemBody):
            text = body.model_dump_json(exclude_unset=True)
            whole = len(text) <= LARGEST_BODY
            plain = body.model_dump(mode="json", exclude_unset=True)
            target["body"] = plain if whole else f"{len(text):,} bytes"
        return target


def _outcome(status: int) -> str:
    return "done" if status < 400 else "refused" if status < 500 else "not known"


def _route(scope: Scope) -> str:
    """Return the template of a path; where there is none, no more of it than names nobody."""
    template: str | None = getattr(scope.get("route"), "path_format", None)
    return template or "/".join(scope["path"].split("/")[:3])[:100]
