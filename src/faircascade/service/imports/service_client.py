"""A client that waits for the service for as long as it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faircascade.client import AsyncClient, ServiceError
from faircascade.client.retry import Attempt, Failure, RetryPolicy
from faircascade.client.transport import Operation, Reply, Request
from faircascade.service.imports.outage import Outage

ANSWER_SECONDS = 30.0
"""Seconds after which an attempt counts as failed; a batch of items takes its time."""
_FOREVER = 1e9
_PROBLEM = "application/problem+json"
_OWN_BUSINESS = frozenset({401, 403, 413})
"""Statuses that also mean something if a proxy says them."""


class ServiceClient(AsyncClient):
    """Sends bodies that are ready; gives up only on what the service itself refuses."""

    def __init__(self, url: str, *, key: str | None = None, **options: Any) -> None:
        super().__init__(url, key=key, **options)
        self._settings = RetryPolicy(timeout=ANSWER_SECONDS, deadline=_FOREVER)
        self.outage = Outage(f"service at {self.url}")
        self._known = False

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._connection.url

    async def check(self) -> None:
        """Wait for the service; raise a `ServiceError` if that is none, or the key is wrong."""
        await self.policy()
        self._known = True

    async def send(self, path: str, name: str, entries: Sequence[bytes]) -> Any:
        """Post a batch of JSON objects under a name, and return the answer."""
        return await self._run(_post(path, name, entries))

    async def _try(self, attempt: Attempt) -> Reply | Failure:
        outcome = await super()._try(attempt)
        if isinstance(outcome, Reply) and self._known and _is_foreign(outcome):
            outcome = Failure(what=outcome.error().detail, unsent=False)
        if isinstance(outcome, Failure):
            self.outage.failed(outcome.what)
        elif outcome.status in (429, 502, 503, 504):
            self.outage.failed(outcome.error().detail)
        else:
            self.outage.over()
        return outcome


def _is_foreign(reply: Reply) -> bool:
    """Return whether something in between answered with an error of its own."""
    if reply.status < 400 or reply.status in _OWN_BUSINESS:
        return False
    return not reply.kind.startswith(_PROBLEM)


def _post(path: str, name: str, entries: Sequence[bytes]) -> Operation[Any]:
    body = b'{"%b":[%b]}' % (name.encode(), b",".join(entries))
    reply = yield Request(method="POST", path=path, content=body)
    return reply.read(lambda answer: answer)


__all__ = ["ServiceClient", "ServiceError"]
