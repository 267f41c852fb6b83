"""Feedback on slates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from faircascade.service.http.schemas.base import Batch
from faircascade.service.http.schemas.problem import Problem
from faircascade.service.limits import Limited
from faircascade.service.messages import FeedbackRequest, Model, PositionValues, example


class FeedbackReceipt(Model):
    model_config = example(
        {
            "impression_id": "1f-Zq3vT0kX5mE",
            "clicked_position": 2,
            "clicked_item": "song-8",
            "clicked_positions": [2],
            "clicked_items": ["song-8"],
            "shown": 2,
            "values": [],
        }
    )
    impression_id: str
    clicked_position: int | None = Field(description="The first click; null if there is none.")
    clicked_item: str | None = Field(description="The item at that position.")
    clicked_positions: list[int] = Field(description="All clicks, from the top.")
    clicked_items: list[str] = Field(description="The items at these positions.")
    shown: int = Field(
        description="Positions that were learned from, counted from the top: as many as the "
        "policy takes as seen, such as those up to the first click."
    )
    values: list[PositionValues] = Field(description="Values by position, as they were sent.")


class FeedbackBatch(Batch):
    model_config = example(
        {"feedback": [{"impression_id": "1f-Zq3vT0kX5mE", "clicked_position": 2}]}
    )
    feedback: Annotated[list[FeedbackRequest], Limited("batch")] = Field(min_length=1)

    @property
    def entries(self) -> int:
        return len(self.feedback)


class FeedbackResult(Model):
    status: int = Field(description="200, or the status that this feedback alone would have had.")
    receipt: FeedbackReceipt | None = None
    problem: Problem | None = None


class FeedbackResults(Model):
    results: list[FeedbackResult] = Field(description="In the order of the feedback.")
