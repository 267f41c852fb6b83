"""Recommended slates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from faircascade.service.http.schemas.base import Batch
from faircascade.service.http.schemas.problem import Problem
from faircascade.service.limits import Limited
from faircascade.service.messages import Model, RecommendationRequest, example


class RankedItem(Model):
    item: str
    score: float | None = Field(
        description="What the policy ranked it by; null for an item that is pinned."
    )


class PolicyVersion(Model):
    name: str
    version: str = Field(description="Changes with any parameter of the policy.")


class Recommendation(Model):
    model_config = example(
        {
            "impression_id": "1f-Zq3vT0kX5mE",
            "user": "user-7",
            "items": [{"item": "song-3", "score": 0.41}, {"item": "song-8", "score": 0.4}],
            "policy": {"name": "ealinucb", "version": "8c1f0e2a9b3d"},
        }
    )
    impression_id: str = Field(description="Send it back with the feedback.")
    user: str
    items: list[RankedItem] = Field(description="Best first: position 1 is the first.")
    policy: PolicyVersion


class RecommendationBatch(Batch):
    model_config = example({"requests": [{"user": "user-7", "k": 3}, {"user": "user-8", "k": 3}]})
    requests: Annotated[list[RecommendationRequest], Limited("batch")] = Field(min_length=1)

    @property
    def entries(self) -> int:
        return len(self.requests)


class RecommendationResult(Model):
    status: int = Field(description="200, or the status that this request alone would have had.")
    recommendation: Recommendation | None = None
    problem: Problem | None = None


class RecommendationResults(Model):
    results: list[RecommendationResult] = Field(description="In the order of the requests.")
