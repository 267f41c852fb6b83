"""Exposure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from faircascade.service.http.schemas.base import LARGEST_PAGE, Paging
from faircascade.service.messages import Model

Notion = Literal["equality_b", "equality_p", "equity_b", "equity_p", "coverage"]
AnyWindow = Annotated[
    Literal["all", "1h", "24h", "7d"], Field(description="Since ever, or in the last hour or days.")
]
Order = Literal["over", "under", "clicks"]
By = Literal["item", "group", "supplier"]


class ExposureQuery(Model):
    window: AnyWindow = "24h"
    limit: int = Field(
        10,
        ge=1,
        le=LARGEST_PAGE,
        description="Items to name at either end, and groups and suppliers at most.",
    )


class ItemExposureQuery(Paging):
    window: AnyWindow = "24h"
    by: By = Field("item", description="Whose exposure: that of items, groups or suppliers.")
    order: Order = Field(
        "over", description="Largest ratio first, smallest ratio first, or most clicks first."
    )


class HistoryQuery(Model):
    window: Literal["1h", "24h", "7d"] = Field("24h", description="The last hour or days.")


class Window(Model):
    name: str = Field(description="all, 1h, 24h or 7d.")
    since: str | None = Field(description="ISO 8601; null for all time before the first slate.")
    until: str = Field(description="ISO 8601.")


class LorenzCurve(Model):
    """Shares in [0, 1]; at most 101 points from (0, 0) to (1, 1). Null if nothing was shown."""

    items: list[float] = Field(description="Share of items, least exposed first.")
    exposure_b: list[float] | None = Field(description="Share of appearances.")
    exposure_p: list[float] | None = Field(description="Share of exposure weighed by position.")
    exposure_pm: list[float] | None = Field(description="The same in proportion to merit.")


class Recipient(Model):
    """An item, a group or a supplier, and what exposure it had."""

    name: str
    items: int = Field(description="Items behind it; 1 for an item.")
    appearances: int = Field(description="Exposure E_B: how often it was shown.")
    exposure: float = Field(description="Exposure E_P: appearances weighed by position.")
    handed_out: int = Field(description="How often it was handed out, shown or not.")
    exposure_handed_out: float = Field(description="The same weighed by position.")
    clicks: int
    exposure_share: float = Field(description="Of the exposure E_P of all items in the catalogue.")
    merit_share: float = Field(description="Of the merit of all items in the catalogue.")
    ratio: float = Field(description="exposure_share / merit_share: 1 is in proportion.")


class Exposure(Model):
    window: Window
    recommendations: int = Field(description="Slates handed out.")
    answers: int = Field(
        description="Slates with feedback, and those that were learned without: see `no_clicks`."
    )
    clicks: int = Field(description="A slate may have several.")
    clicked: int = Field(description="Slates with a click.")
    click_rate: float | None = Field(
        description="Clicks per answered slate; null if nothing was answered."
    )
    no_clicks: int = Field(
        description="Slates that were learned as not clicked, as no feedback came in time."
    )
    positions: int = Field(description="Positions of all slates that were handed out.")
    positions_shown: int = Field(
        description="Of these, without those that feedback says were not shown."
    )
    items: int = Field(description="Items in the catalogue.")
    fairness: dict[Notion, float | None] = Field(
        description="1 - Gini over the catalogue by notion, and the share of items shown at all."
    )
    lorenz: LorenzCurve
    over_exposed: list[Recipient] = Field(
        description="Items with the largest ratios, largest first."
    )
    under_exposed: list[Recipient] = Field(
        description="Items with the smallest ratios, smallest first."
    )
    groups: list[Recipient] = Field(
        description="The most exposed ones first; empty without such a column."
    )
    suppliers: list[Recipient] = Field(
        description="The most exposed ones first; empty without such a column."
    )


class ItemExposure(Model):
    window: Window
    total: int = Field(description="Items, groups or suppliers of the catalogue.")
    items: list[Recipient] = Field(description="Some of them, in the order that was asked for.")


class Moment(Model):
    """What happened in one step of a window."""

    since: str
    until: str
    recommendations: int
    answers: int
    clicks: int
    clicked: int = Field(description="Slates with a click.")
    click_rate: float | None = Field(description="Null if nothing was answered.")
    no_clicks: int = Field(description="Answers that nobody gave in time.")
    positions: int
    positions_shown: int
    fairness: dict[Notion, float | None] = Field(description="As in the summary, of this step.")


class History(Model):
    window: Window
    step_seconds: int = Field(description="Length of a step.")
    moments: list[Moment] = Field(description="Oldest first; the last one is not over yet.")
