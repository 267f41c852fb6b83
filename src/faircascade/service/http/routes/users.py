"""Routes that show and forget what is kept about a user."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.exposure.summary import iso
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import json_response, no_content
from faircascade.service.http.path_parameters import UserPath
from faircascade.service.http.responses import ALWAYS, STORE, problem_responses
from faircascade.service.http.schemas import User
from faircascade.service.messages import first, value_documents
from faircascade.service.service import Service
from faircascade.service.stores.base import DEFAULT, LABELS, VALUES, Impression, UserRecord
from faircascade.types import Users

router = APIRouter(prefix="/v1", tags=["users"])


@router.get(
    "/users/{user:path}",
    operation_id="getUser",
    summary="Get what is kept about a user",
    response_model=User,
    response_description="All of it, with the newest impressions.",
    responses=problem_responses(*ALWAYS, *STORE, 404, 422),
)
async def get_user(request: Request, user: UserPath) -> Response:
    """Return what the service knows about a user: what was learned, and the newest impressions."""
    service = dependencies_of(request).service
    return json_response(_document(await service.user(user), service))


@router.delete(
    "/users/{user:path}",
    operation_id="forgetUser",
    summary="Forget a user",
    status_code=204,
    response_description="Nothing is kept about the user any more.",
    responses=problem_responses(*ALWAYS, *STORE, 403, 404, 422),
)
async def forget_user(request: Request, user: UserPath) -> Response:
    """Forget what was learned of a user, the impressions and the answers.

    Counts of exposure stay: they do not say who saw an item.
    """
    await dependencies_of(request).service.erase(user)
    return no_content()


def _document(record: UserRecord, service: Service) -> dict[str, Any]:
    """Return `User` of the API."""
    feedback, preferences = _learned(record, service)
    return {
        "user": record.user,
        "recommendations": record.rounds,
        "feedback": feedback,
        "preferences": preferences,
        "impressions_kept": record.count,
        "impressions": [_impression(impression, service) for impression in record.impressions],
    }


def _learned(record: UserRecord, service: Service) -> tuple[int, list[float] | None]:
    """Return how many answers were learned, and what the model makes of them."""
    users = Users(ids=np.array([record.user]))
    dim = service.learner.dim_of(service.catalogue.blank)
    state = service.learner.from_sums(users, service.known(record.sums[None]), dim)
    known = service.learner.describe(state, 0)
    return known.get("updates", 0), known.get("preferences")


def _impression(impression: Impression, service: Service) -> dict[str, Any]:
    answered = impression.clicked is not None
    return {
        "impression_id": impression.id,
        "time": iso(impression.time),
        "items": service.catalogue.names(impression.slots),
        "user_labels": dict(name.split("=", 1) for name in impression.note.get(LABELS, ())),
        "answered": answered,
        "clicked_position": first(impression.clicked),
        "clicked_positions": impression.clicked,
        "shown": impression.examined if answered else None,
        "values": value_documents(impression.details.get(VALUES, ())),
        "default": DEFAULT in impression.details,
    }
