"""Who gets how much exposure."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.exposure import summary
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import json_response
from faircascade.service.http.responses import ALWAYS, problem_responses
from faircascade.service.http.schemas import (
    Exposure,
    ExposureQuery,
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
