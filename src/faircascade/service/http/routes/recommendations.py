"""Routes that recommend slates."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.http.admission import check_of
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import JSONRoute, json_response
from faircascade.service.http.problems import batch_result
from faircascade.service.http.responses import ALWAYS, STORE, UNSURE, WRITING, problem_responses
from faircascade.service.http.schemas import (
    Recommendation,
    RecommendationBatch,
    RecommendationRequest,
    RecommendationResults,
)
from faircascade.service.messages import Refused
from faircascade.service.precedence import PIECE

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["recommendations"])


@router.post(
    "/recommendations",
    operation_id="recommend",
    summary="Recommend a slate",
    response_model=Recommendation,
    response_description="The slate, which counts as shown from now on.",
    responses=problem_responses(*ALWAYS, *WRITING, *STORE, *UNSURE, 409),
)
async def recommend(request: Request, body: RecommendationRequest) -> Response:
    """Rank items for a user.

    Send `impression_id` back with the feedback. A slate without feedback teaches nothing, but still
    counts as exposure. After a 503 nothing was counted, so ask again; after a 504 the slate may
    have been counted. A slate for which nobody waits any more is not made.
    """
    deps = dependencies_of(request)
    (answer,) = await deps.service.recommend([body], check=check_of(request))
    if isinstance(answer, Refused):
        raise answer
    return json_response(answer.document())


@router.post(
    "/recommendations/batch",
    operation_id="recommendMany",
    summary="Recommend many slates",
    response_model=RecommendationResults,
    response_description="A result for each request; some may be problems.",
    responses=problem_responses(*ALWAYS, *WRITING, *STORE, *UNSURE),
)
async def recommend_many(request: Request, body: RecommendationBatch) -> Response:
    """Rank items for many users at once, which is much faster than one by one.

    A batch that breaks a rule of its schema is refused as a whole. Beyond that each request
    succeeds or fails by itself. After a 503 no slate was counted, after a 504 some may have been.
    """
    deps = dependencies_of(request)
    answers = await deps.service.recommend(body.requests, check=check_of(request))
    results: list[Any] = []
    for place, answer in enumerate(answers):
        if place % PIECE == 0:
            await deps.service.precedence.give_way()
        at = f"body.requests.{place}"
        results.append(batch_result(answer, place=at, key="recommendation"))
    return json_response({"results": results})
