"""Who gets how much exposure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from faircascade.service.exposure import summary
from faircascade.service.exposure.export import Row, recipient_rows, written
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import json_response
from faircascade.service.http.monitoring import time_rows
from faircascade.service.http.responses import ALWAYS, problem_responses
from faircascade.service.http.schemas import (
    ExportQuery,
    Exposure,
    ExposureQuery,
    FindQuery,
    FoundItems,
    History,
    HistoryQuery,
    ItemExposure,
    ItemExposureQuery,
)

router = APIRouter(prefix="/v1", tags=["exposure"])


@router.get(
    "/exposure",
    operation_id="getExposure",
    summary="Sum up exposure",
    response_model=Exposure,
    response_description="The summary, at most a few seconds old.",
    responses=problem_responses(*ALWAYS, 422),
)
async def get_exposure(request: Request, query: Annotated[ExposureQuery, Query()]) -> Response:
    """Return how exposure was shared in a window, and who got too much or too little of it.

    It names the most exposed groups and suppliers; all of them are under `/v1/exposure/items`.
    """
    service = dependencies_of(request).service
    recipients = service.catalogue.recipients
    snapshot = service.exposure.snapshot(query.window)
    found = await asyncio.to_thread(summary.exposure, snapshot, recipients, query.limit)
    return json_response(found)


@router.get(
    "/exposure/items",
    operation_id="listItemExposure",
    summary="List the exposure of items, groups or suppliers",
    response_model=ItemExposure,
    response_description="A page of them.",
    responses=problem_responses(*ALWAYS, 422),
)
async def list_item_exposure(
    request: Request, query: Annotated[ItemExposureQuery, Query()]
) -> Response:
    """Return the exposure of every item, group or supplier in a window, some at a time."""
    service = dependencies_of(request).service
    recipients = service.catalogue.recipients
    snapshot = service.exposure.snapshot(query.window)
    found = await asyncio.to_thread(
        summary.item_exposure,
        snapshot,
        recipients,
        query.order,
        query.offset,
        query.limit,
        by=query.by,
    )
    return json_response(found)


@router.get(
    "/exposure/history",
    operation_id="getExposureHistory",
    summary="Follow exposure over time",
    response_model=History,
    response_description="The steps of the window.",
    responses=problem_responses(*ALWAYS, 422),
)
async def get_exposure_history(
    request: Request, query: Annotated[HistoryQuery, Query()]
) -> Response:
    """Return clicks and fairness in each step of a window."""
    service = dependencies_of(request).service
    recipients = service.catalogue.recipients
    timeline = service.exposure.timeline(query.window)
    return json_response(await asyncio.to_thread(summary.history, timeline, recipients))


@router.get(
    "/exposure/find",
    operation_id="findItems",
    summary="Find items by how their ids begin",
    response_model=FoundItems,
    response_description="Some of them, with their exposure and their labels.",
    responses=problem_responses(*ALWAYS, 422),
)
async def find_items(request: Request, query: Annotated[FindQuery, Query()]) -> Response:
    """Return items whose ids begin with a text, with what exposure they had in a window."""
    service = dependencies_of(request).service
    catalogue, snapshot = service.catalogue, service.exposure.snapshot(query.window)
    return json_response(
        await asyncio.to_thread(summary.found_items, snapshot, catalogue, query.prefix, query.limit)
    )


@router.get(
    "/exposure/export",
    operation_id="exportExposure",
    summary="Export exposure as a table",
    response_description="A row for each item, group, supplier or step.",
    response_class=Response,
    responses={
        200: {
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            }
        },
        **problem_responses(*ALWAYS, 422),
    },
)
async def export_exposure(request: Request, query: Annotated[ExportQuery, Query()]) -> Response:
    """Return the exposure of a whole catalogue, or the time lines, for other programs."""
    deps = dependencies_of(request)
    recipients = deps.service.catalogue.recipients
    window = query.window
    pages: Iterator[Sequence[Row]]
    if query.by == "time":
        window = "7d" if window == "all" else window
        timeline = deps.service.exposure.timeline(window)
        steps = await asyncio.to_thread(summary.history, timeline, recipients)
        pages = iter([time_rows(steps["moments"], deps.metrics.traffic.timeline(window))])
    else:
        snapshot = deps.service.exposure.snapshot(window)
        pages = recipient_rows(snapshot, recipients, query.by)
    name = f"exposure-{query.by}-{window}.{query.format}"
    kind = "text/csv; charset=utf-8" if query.format == "csv" else "application/json"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
    }
    # a thread makes each piece when the one before was taken
    return StreamingResponse(written(pages, query.format), 200, headers, kind)
