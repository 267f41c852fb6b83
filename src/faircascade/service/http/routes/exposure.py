"""Who gets how much exposure."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.exposure import summary
from faircascade.service.http.answers import ALWAYS, problem_answers
from faircascade.service.http.bodies import json_answer
from faircascade.service.http.parts import parts_of
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
    responses=problem_answers(*ALWAYS, 422),
)
async def get_exposure(request: Request, query: Annotated[ExposureQuery, Query()]) -> Response:
    """Return how exposure was shared in a window, and who got too much or too little of it.

    Of groups and suppliers the most exposed ones are named; all of them are under
    `/v1/exposure/items`.
    """
    service = parts_of(request).service
    holders = service.catalogue.holders
    snapshot = service.exposure.snapshot(query.window)
    found = await asyncio.to_thread(summary.exposure, snapshot, holders, query.limit)
    return json_answer(found)


@router.get(
    "/exposure/items",
    operation_id="listItemExposure",
    summary="List the exposure of items, groups or suppliers",
    response_model=ItemExposure,
    response_description="A page of them.",
    responses=problem_answers(*ALWAYS, 422),
)
async def list_item_exposure(
    request: Request, query: Annotated[ItemExposureQuery, Query()]
) -> Response:
    """Return the exposure of every item, group or supplier in a window, some at a time."""
    service = parts_of(request).service
    holders = service.catalogue.holders
    snapshot = service.exposure.snapshot(query.window)
    found = await asyncio.to_thread(
        summary.item_exposure,
        snapshot,
        holders,
        query.order,
        query.offset,
        query.limit,
        by=query.by,
    )
    return json_answer(found)


@router.get(
    "/exposure/history",
    operation_id="getExposureHistory",
    summary="Follow exposure over time",
    response_model=History,
    response_description="The steps of the window.",
    responses=problem_answers(*ALWAYS, 422),
)
async def get_exposure_history(
    request: Request, query: Annotated[HistoryQuery, Query()]
) -> Response:
    """Return how clicks and fairness went in a window, step by step."""
    service = parts_of(request).service
    holders = service.catalogue.holders
    trail = service.exposure.trail(query.window)
    return json_answer(await asyncio.to_thread(summary.history, trail, holders))
