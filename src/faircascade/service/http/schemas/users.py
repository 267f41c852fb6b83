"""Users."""

from __future__ import annotations

from pydantic import Field

from faircascade.service.messages import Model, PositionValues


class UserImpression(Model):
    impression_id: str
    time: str = Field(description="When it was handed out, ISO 8601.")
    items: list[str]
    user_labels: dict[str, str] = Field(
        description="Those that the request brought, if there are cohorts of them."
    )
    answered: bool
    clicked_position: int | None = Field(
        description="The first click; null without a click or an answer."
    )
    clicked_positions: list[int] | None = Field(description="All clicks; null without an answer.")
    shown: int | None = Field(description="Positions learned from; null without an answer.")
    values: list[PositionValues] = Field(description="Values by position; none without an answer.")
    default: bool = Field(
        description="Whether it was learned as not clicked, as no feedback came in time."
    )


class User(Model):
    user: str
    recommendations: int = Field(description="Slates that the user has had.")
    feedback: int = Field(
        description="Answers that were learned; 0 with a policy that does not learn."
    )
    preferences: list[float] | None = Field(
        description="The model's estimate theta; null if the policy does not learn one."
    )
    impressions_kept: int = Field(description="Impressions that are kept.")
    impressions: list[UserImpression] = Field(description="The newest ones.")
