"""A service that remembers what it was told, for clients that send in the same process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from faircascade.service.imports.service_client import ServiceClient

Trouble = Callable[[httpx.Request], httpx.Response | None]
"""What happens to a request before it is answered: another answer, or nothing."""


def problem(status: int, detail: str = "no", **headers: str) -> httpx.Response:
    """Return an error as the service tells it."""
    document = {"type": "about:blank", "title": "No", "status": status, "detail": detail}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = {"Content-Type": "application/problem+json"}
    body = json.dumps({**document, "errors": []}).encode()
    return httpx.Response(status, content=body, headers={**kind, **names})


class FakeService:
    """Acknowledges everything, except what a test names."""

    def __init__(self) -> None:
        self.done: list[str] = []
        """What was acknowledged: ids of impressions, +item, -item, !user."""
        self.refuses: dict[str, int] = {}
        """Statuses of refusals, by impression, item or user."""
        self.largest = 1000
        """Entries of a batch at most."""
        self.trouble: Trouble = lambda request: None
        self.requests: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)
        self.requests.append(request)
        found = self.trouble(request)
        if found is not None:
            return found
        path = request.url.path
        if path == "/v1/policy":
            return httpx.Response(200, json={})
        if request.method == "DELETE":
            return self._delete(*path.removeprefix("/v1/").split("/"))
        body = json.loads(request.content)
        return (
            self._feedback(body["feedback"]) if "feedback" in body else self._items(body["items"])
        )

    def _feedback(self, entries: list[dict[str, Any]]) -> httpx.Response:
        if len(entries) > self.largest:
            return problem(422, "body.feedback must have at most 2 entries")
        results = []
        for entry in entries:
            name = entry["impression_id"]
            status = self.refuses.get(name, 200)
            if status == 200:
                self.done.append(name)
                results.append({"status": 200, "receipt": {}})
            else:
                told = json.loads(problem(status, f"{name} is refused").content)
                results.append({"status": status, "problem": told})
        return httpx.Response(200, json={"results": results})

    def _items(self, entries: list[dict[str, Any]]) -> httpx.Response:
        for place, entry in enumerate(entries):
            status = self.refuses.get(entry["item"])
            if status is not None:
                return problem(status, f"body.items.{place}.features are wrong")
        self.done += [f"+{entry['item']}" for entry in entries]
        return httpx.Response(200, json={"changed": len(entries), "total": 1})

    def _delete(self, what: str, name: str) -> httpx.Response:
        if name in self.refuses:
            return problem(self.refuses[name], f"{name} is refused")
        self.done.append(f"{'-' if what == 'items' else '!'}{name}")
        return httpx.Response(204)

    def client(self) -> ServiceClient:
        """Return a client that never waits for long."""

        async def sleep(_: float) -> None:
            await asyncio.sleep(0)

        return ServiceClient(
            "http://service", transport=httpx.MockTransport(self.__call__), sleep=sleep
        )


def with_client(service: FakeService, work: Callable[[ServiceClient], Awaitable[Any]]) -> Any:
    """Run some work with a client of a service."""

    async def run() -> Any:
        client = service.client()
        try:
            await client.check()
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())
