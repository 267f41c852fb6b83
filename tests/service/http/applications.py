"""An application for tests: a small catalogue, a store in a folder."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

from faircascade.policies import EALinUCB, Policy
from faircascade.service.http import create_app
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import Store
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.in_process import DIM, Clock, changes, topics_for

T = TypeVar("T")


def new_service(
    folder: Path,
    *,
    policy: Policy | None = None,
    store: Store | None = None,
    settings: ServiceSettings | None = None,
    clock: Clock | None = None,
) -> Service:
    """Return a service that has not started."""
    clock = clock or Clock()
    return Service(
        policy or EALinUCB(weight="log", gamma=0.01),
        store or SQLiteStore(folder / "store.db"),
        dim=DIM,
        topics=topics_for(policy),
        settings=settings,
        clock=clock,
        elapsed=clock,
    )


def app_of(service: Service, *, items: int = 12, **options: Any) -> FastAPI:
    """Return the application of a service that fills its catalogue when it starts."""

    async def start() -> None:
        await Service.start(service)
        if items and not len(service.catalogue):
            await service.put_items(changes(items, topics=service.topics))

    service.start = start  # type: ignore[method-assign]
    return create_app(service, **options)


class Client:
    """Calls an application from a test without an event loop of its own."""

    def __init__(self, app: FastAPI, portal: BlockingPortal, http: httpx.AsyncClient) -> None:
        self.app = app
        self._portal = portal
        self._http = http

    def run(self, work: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Run something where the application runs."""
        return cast(T, self._portal.call(work, *args))

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, from where the application runs."""
        return await self._http.request(method, path, **options)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._portal.call(partial(self.ask, method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, json: Any, **options: Any) -> httpx.Response:
        return self.request("POST", path, json=json, **options)

    def put(self, path: str, json: Any, **options: Any) -> httpx.Response:
        return self.request("PUT", path, json=json, **options)

    def delete(self, path: str, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, **options)

    def recommend(self, user: str = "ann", k: int = 3, **fields: Any) -> dict[str, Any]:
        """Return a slate."""
        answer = self.post("/v1/recommendations", {"user": user, "k": k, **fields})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def learn(self, impression: str, **fields: Any) -> httpx.Response:
        return self.post("/v1/feedback", {"impression_id": impression, **fields})


@contextmanager
def calling(app: FastAPI) -> Iterator[Client]:
    """Start an application and yield a client; errors are answers, as on the wire."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    with start_blocking_portal() as portal:
        http = httpx.AsyncClient(transport=transport, base_url="http://service")
        with (
            portal.wrap_async_context_manager(app.router.lifespan_context(app)),
            portal.wrap_async_context_manager(http),
        ):
            yield Client(app, portal, http)


async def call_and_leave(app: FastAPI, path: str) -> None:
    """Begin to send a body, and hang up."""
    messages = iter(
        [
            {"type": "http.request", "body": b"{", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        raise AssertionError("nobody is there to be answered")

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    await app(scope, receive, send)
