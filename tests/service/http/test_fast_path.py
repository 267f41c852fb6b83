"""The shorter way to the busiest operations gives the answers of the longer one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faircascade.service.http.fast_path import FastPath
from faircascade.service.http.routes import ROUTERS
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown, StoreUnsure
from tests.service.http.applications import app_of, calling, new_service

OPERATIONS = (
    "/v1/recommendations",
    "/v1/recommendations/batch",
    "/v1/feedback",
    "/v1/feedback/batch",
)
BODIES: list[Any] = [
    {"user": "u", "k": 3},
    {"user": "u", "k": 3, "exclude": list("abcdefghijkl")},
    {"user": "u", "k": -3},
    {"requests": [{"user": "u"}, {"user": "v", "candidates": ["nothing"]}]},
    {"impression_id": "1-unknown"},
    {"feedback": [{"impression_id": "1-unknown"}]},
    [],
]


def answers(service: Service, method: str) -> list[Any]:
    """Return all that clients can tell apart of the answers to many requests."""
    told = []
    with calling(app_of(service)) as client:
        for path in OPERATIONS:
            for body in BODIES:
                answer = client.request(method, path, json=body, headers={"X-Request-ID": "same"})
                said = answer.json()
                said.pop("impression_id", None)
                for result in said.get("results", ()):
                    (result.get("recommendation") or {}).pop("impression_id", None)
                headers = dict(answer.headers)
                told.append((answer.status_code, said, headers))
        metrics = client.get("/metrics").text.splitlines()
    counted = [line for line in metrics if line.startswith("faircascade_http_requests_total")]
    return [told, counted]


def test_it_takes_the_operations_that_products_call() -> None:
    assert set(OPERATIONS) <= FastPath(lambda *_: None, routers=ROUTERS)._routes.keys()  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("failing", [None, StoreDown, StoreUnsure, RuntimeError])
def test_both_ways_give_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, failing: type[Exception] | None
) -> None:
    def fresh(name: str) -> Service:
        (tmp_path / name).mkdir()
        service = new_service(tmp_path / name)
        if failing is not None:

            async def fail(*_: Any, **__: Any) -> Any:
                raise failing("on purpose")

            monkeypatch.setattr(service, "_recommending", fail)
            monkeypatch.setattr(service, "_learning", fail)
        return service

    short = answers(fresh("short"), method)

    async def pass_on(self: FastPath, *request: Any) -> None:
        await self._app(*request)

    monkeypatch.setattr(FastPath, "__call__", pass_on)
    assert answers(fresh("long"), method) == short
