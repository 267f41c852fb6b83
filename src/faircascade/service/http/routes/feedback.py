"""Routes that take feedback."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import JSONRoute, json_response
from faircascade.service.http.problems import batch_result
from faircascade.service.http.responses import ALWAYS, STORE, WRITING, problem_responses
from faircascade.service.http.schemas import (
    FeedbackBatch,
    FeedbackReceipt,
    FeedbackRequest,
    FeedbackResults,
)
from faircascade.service.messages import Refused
from faircascade.service.precedence import PIECE

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["feedback"])


@router.post(
    "/feedback",
    operation_id="learn",
    summary="Learn from feedback",
    response_model=FeedbackReceipt,
    response_description="The feedback is learned and stored durably.",
    responses=problem_responses(*ALWAYS, *WRITING, *STORE, 404, 409),
)
async def learn(request: Request, body: FeedbackRequest) -> Response:
    """Report what a user did with a slate: which position was clicked, several, or none.

    Clicks are given in one form: `clicked_position`, `clicked_positions` or `clicked_item`.

    If the reply was lost, send the same feedback again: it is learned once and gets the same
    receipt. A different answer for the same impression is a conflict.
    """
    deps = dependencies_of(request)
    (receipt,) = await deps.service.learn([body])
    if isinstance(receipt, Refused):
        raise receipt
    return json_response(receipt.document())


@router.post(
    "/feedback/batch",
    operation_id="learnMany",
    summary="Learn from many answers",
    response_model=FeedbackResults,
    response_description="A result for each feedback; some may be problems.",
    responses=problem_responses(*ALWAYS, *WRITING, *STORE),
)
async def learn_many(request: Request, body: FeedbackBatch) -> Response:
    """Report what users did with many slates.

    A batch that breaks a rule of its schema is refused as a whole. Beyond that each feedback is
    learned or refused by itself.
    """
    deps = dependencies_of(request)
    receipts = await deps.service.learn(body.feedback)
    results: list[Any] = []
    for place, receipt in enumerate(receipts):
        if place % PIECE == 0:
            await deps.service.precedence.give_way()
        results.append(batch_result(receipt, place=f"body.feedback.{place}", key="receipt"))
    return json_response({"results": results})
