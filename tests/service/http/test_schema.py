"""Schemathesis reads the description of the API and tries to catch the service lying."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from pydantic import BaseModel

from faircascade.service.http import create_app
from faircascade.service.http.schemas import (
    ExperimentBody,
    PolicyBody,
    RecommendationRequest,
    SharesBody,
)
from tests.service.http.applications import app_of, new_service
from tests.service.http.wire import listening

schema = schemathesis.openapi.from_dict(create_app(new_service(Path("unused"))).openapi())


def name_known_candidates(body: Any) -> None:
    """Let a body name items that there are: no schema can say which those are."""
    for request in [body, *requests_in(body)]:
        if isinstance(request, dict) and is_list_of_ids(request.get("candidates")):
            request["candidates"] = ["a", "b"][: len(request["candidates"])]


def name_known_policies(path: str, body: Any) -> None:
    """Let a valid body name policies that there are, and shares that they can have."""
    shares = {"default": 0.25, "any": 0.5}
    known: dict[str, tuple[type[BaseModel], dict[str, Any]]] = {
        "/v1/policies/{name}": (PolicyBody, {"policy": "linucb", "parameters": {}}),
        "/v1/experiments/{name}": (ExperimentBody, {"shares": shares, "control": "default"}),
        "/v1/experiments/{name}/shares": (SharesBody, {"shares": shares}),
    }
    if path in known and is_valid(known[path][0], body):
        body.update(known[path][1])


def is_valid(model: type[BaseModel], body: Any) -> bool:
    try:
        model.model_validate(body, strict=True)
    except ValueError:
        return False
    return True


def requests_in(body: Any) -> list[Any]:
    found = body.get("requests") if isinstance(body, dict) else None
    return found if isinstance(found, list) else []


def is_list_of_ids(candidates: Any) -> bool:
    try:
        RecommendationRequest(user="ann", candidates=candidates)
    except ValueError:
        return False
    return isinstance(candidates, list)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with listening(app_of(new_service(tmp_path_factory.mktemp("store")))) as url:
        httpx.put(f"{url}/v1/policies/any", json={"policy": "random"})
        yield url


@schema.parametrize()
@settings(
    max_examples=25,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_an_operation_does_what_its_description_says(case: Any, url: str) -> None:
    name_known_candidates(case.body)
    name_known_policies(case.operation.path, case.body)
    case.call_and_validate(base_url=url)
