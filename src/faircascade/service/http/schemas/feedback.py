"""Feedback on lists."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from faircascade.service.http.limits import Limited
from faircascade.service.http.schemas.base import Count, Model, example
from faircascade.service.http.schemas.problem import Problem
from faircascade.service.ids import LONGEST_ID, Id


class FeedbackRequest(Model):
    model_config = example(
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_position": 2},
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_item": "song-8"},
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_position": None, "shown": 4},
    )
    impression_id: str = Field(
        min_length=1, max_length=LONGEST_ID, description="Of the list that it is about."
    )
    clicked_position: Count | None = Field(
        None, description="Position of the click, 1 for the first; null for none."
    )
    clicked_item: Id | None = Field(None, description="The clicked item, in place of its position.")
    shown: Count | None = Field(
        None, description="How many positions the user saw from the top, if not all."
    )


class FeedbackReceipt(Model):
    model_config = example(
        {
            "impression_id": "1f-Zq3vT0kX5mE",
            "clicked_position": 2,
            "clicked_item": "song-8",
            "shown": 2,
        }
    )
    impression_id: str
    clicked_position: int | None = Field(description="Null if nothing was clicked.")
    clicked_item: str | None = Field(description="What stood there.")
    shown: int = Field(description="Positions that were learned from: up to and with the click.")


class FeedbackBatch(Model):
    model_config = example(
        {"feedback": [{"impression_id": "1f-Zq3vT0kX5mE", "clicked_position": 2}]}
    )
    feedback: Annotated[list[FeedbackRequest], Limited("batch")] = Field(min_length=1)


class FeedbackResult(Model):
    status: int = Field(description="200, or the status that this feedback alone would have had.")
    receipt: FeedbackReceipt | None = None
    problem: Problem | None = None


class FeedbackResults(Model):
    results: list[FeedbackResult] = Field(description="In the order of the feedback.")
