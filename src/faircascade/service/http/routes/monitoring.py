"""Routes about how the service does: requests over time, the store, changes of policies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.http import monitoring
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import json_response
from faircascade.service.http.responses import ALWAYS, problem_responses
from faircascade.service.http.schemas import StoreHealth, Traffic, TrafficQuery
from faircascade.service.stores.base import StoreDown, StoreSize
from faircascade.service.workforce import Workforce

router = APIRouter(prefix="/v1", tags=["operation"])
LONGEST_LAG = 1e6
"""Seconds, for a service that has not counted anything yet."""


@router.get(
    "/traffic",
    operation_id="getTraffic",
    summary="Follow requests over time",
    response_model=Traffic,
    response_description="The steps of the window.",
    responses=problem_responses(*ALWAYS, 422),
)
async def get_traffic(request: Request, query: Annotated[TrafficQuery, Query()]) -> Response:
    """Return how many requests came in each step of a window, and how long they took.

    All workers of this service together, since it was started.
    """
    moments = dependencies_of(request).metrics.traffic.timeline(query.window)
    return json_response(monitoring.traffic(query.window, moments))


@router.get(
    "/store",
    operation_id="getStore",
    summary="Ask how the store does",
    response_model=StoreHealth,
    response_description="What is known of it.",
    responses=problem_responses(*ALWAYS),
)
async def get_store(request: Request) -> Response:
    """Return whether the store can be written to, how long that takes, and how large it is.

    The store is checked at most once per second.
    """
    deps = dependencies_of(request)
    store, status = deps.service.store, await deps.store_probe.status()
    size = StoreSize()
    if status == "ok":
        try:
            size = await store.size()
        except StoreDown:
            status = "is unavailable"
    workers = 1 if deps.worker is None else len(Workforce.read(deps.worker.folder).serving)
    return json_response(
        {
            "kind": store.address_form.partition(":")[0],
            "status": status,
            "seconds": deps.store_probe.seconds if status == "ok" else None,
            "data_bytes": size.data,
            "log_bytes": size.log,
            "counts_behind_seconds": min(deps.service.exposure.behind, LONGEST_LAG),
            "durability": store.durability,
            "workers": workers,
        }
    )
