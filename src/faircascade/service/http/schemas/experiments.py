"""Online experiments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

from faircascade.service.http.schemas.policies import Change, Share, Time
from faircascade.service.ids import Name
from faircascade.service.messages import MOST, Model, example, whole

Measure = Literal["clicks_per_slate", "reward_per_slate", "equality_b", "equality_p"]
State = Literal["running", "stopped", "ended"]
Shares = Annotated[
    dict[str, Share],
    Field(
        max_length=20,
        description="Share of all users by name of a policy, in multiples of 0.0001.",
    ),
]

_DIFFERENCE: dict[str, Any] = {
    "answer": "open",
    "value": 0.01,
    "low": -0.02,
    "high": 0.04,
    "value_percent": 2.5,
    "low_percent": -5.0,
    "high_percent": 10.0,
}
_ARM: dict[str, Any] = {
    "users": 9800,
    "slates": 50_200,
    "answers": 41_000,
    "answered_share": 0.82,
    "clicks": 20_100,
    "clicks_per_slate": {"value": 0.4, "low": 0.38, "high": 0.42},
    "reward_per_slate": {"value": 0.4, "low": 0.38, "high": 0.42},
    "equality_b": {"value": 0.31, "low": 0.29, "high": 0.33},
    "equality_p": {"value": 0.28, "low": 0.26, "high": 0.3},
}
_COMPARISON = {
    measure: {
        **_DIFFERENCE,
        "text": "no difference larger than 10% so far; keep running: about 90,000 more slates",
        "slates_left": 90_000,
    }
    for measure in ("clicks_per_slate", "reward_per_slate", "equality_b", "equality_p")
}
_SHARES = {"default": 0.5, "fairer": 0.5}


class ExperimentBody(Model):
    model_config = example({"shares": {"default": 0.01, "fairer": 0.01}})
    shares: Annotated[Shares, Field(min_length=2)]
    control: Name = Field(
        default="default",
        description="The arm that others are compared with, and that everybody outside gets.",
    )
    level: FiniteFloat = Field(
        default=0.95, gt=0, lt=1, description="With which probability all intervals hold."
    )
    relevant: FiniteFloat = Field(
        default=0.03,
        gt=0,
        lt=1,
        description="Smallest difference that matters, as a share of the control's value.",
    )
    first_look: Annotated[int, Field(ge=0, le=MOST), BeforeValidator(whole)] = Field(
        default=0,
        description="Slates before the first interval: a third of what it is thought to take makes "
        "later intervals narrower.",
    )


class SharesBody(Model):
    model_config = example({"shares": {"default": 0.5, "fairer": 0.5}})
    shares: Annotated[Shares, Field(min_length=1)]


class StateBody(Model):
    model_config = example({"state": "stopped"})
    state: Literal["running", "stopped"] = Field(
        description="`stopped` serves everybody the control and counts nobody."
    )


class Interval(Model):
    value: float | None
    low: float | None = Field(description="Null before there are enough users.")
    high: float | None


class ExperimentArm(Model):
    users: int = Field(description="Users with a slate.")
    slates: int
    answers: int = Field(description="Slates with feedback.")
    answered_share: float | None = Field(description="Answers per slate.")
    clicks: int
    clicks_per_slate: Interval
    reward_per_slate: Interval = Field(
        description="What answers are worth; as many as clicks unless rewards are graded."
    )
    equality_b: Interval = Field(
        description="1 - Gini of appearances; null in catalogues of more than 10,000 items."
    )
    equality_p: Interval = Field(description="The same weighed by position.")


class Difference(Model):
    answer: Literal["more", "less", "same", "open"] = Field(
        description="`same`: no difference that matters. `open`: not known yet."
    )
    value: float | None = Field(description="The arm less the control.")
    low: float | None = Field(description="Null before there are enough users.")
    high: float | None
    value_percent: float | None = Field(description="The same in percent of the control's value.")
    low_percent: float | None
    high_percent: float | None


class Comparison(Difference):
    text: str = Field(description="What that means, in words.")
    slates_left: int | None = Field(
        description="How many more slates would settle it; null if settled or not known."
    )


class SampleRatio(Model):
    users: dict[str, int]
    planned: dict[str, float] = Field(description="Planned shares of these users.")
    p_value: float = Field(description="Of any look, however many there are.")
    mismatch: bool = Field(description="True if users cannot have been divided as planned.")
    text: str


class ExperimentLook(Model):
    time: Time
    slates: int
    mismatch: bool
    comparisons: dict[str, dict[Measure, Difference]]


class ExperimentPeriod(Model):
    since: Time
    shares: dict[str, float]
    looks: list[ExperimentLook] = Field(description="Oldest first; the older, the fewer.")


class Experiment(Model):
    """What an experiment shows since its shares or policies were last changed."""

    model_config = example(
        {
            "name": "fairer-home",
            "state": "ended",
            "since": "2026-11-19T15:40:25.123Z",
            "until": "2026-11-26T15:40:25.123Z",
            "control": "default",
            "shares": _SHARES,
            "counted_since": "2026-11-19T15:40:25.123Z",
            "level": 0.95,
            "relevant": 0.03,
            "first_look": 0,
            "arms": {"default": _ARM, "fairer": _ARM},
            "comparisons": {"fairer": _COMPARISON},
            "sample_ratio": {
                "users": {"default": 9800, "fairer": 9730},
                "planned": _SHARES,
                "p_value": 1.0,
                "mismatch": False,
                "text": "users are divided as planned, as far as can be told",
            },
            "periods": [
                {
                    "since": "2026-11-19T15:40:25.123Z",
                    "shares": _SHARES,
                    "looks": [
                        {
                            "time": "2026-11-19T16:40:25.123Z",
                            "slates": 50_000,
                            "mismatch": False,
                            "comparisons": {"fairer": {"clicks_per_slate": _DIFFERENCE}},
                        }
                    ],
                }
            ],
            "changes": [{"time": "2026-11-19T15:40:25.123Z", "text": "fairer-home begins"}],
        }
    )
    name: str
    state: State
    since: Time
    until: Time | None = Field(description="When it ended; null if it did not.")
    control: str
    shares: dict[str, float]
    counted_since: Time
    level: float
    relevant: float
    first_look: int
    arms: dict[str, ExperimentArm]
    comparisons: dict[str, dict[Measure, Comparison]] = Field(
        description="Each arm but the control, against the control."
    )
    sample_ratio: SampleRatio
    periods: list[ExperimentPeriod] = Field(
        description="How it went, oldest first: a new period begins with every change of shares or "
        "policies, and is counted anew."
    )
    changes: list[Change] = Field(description="What operators changed meanwhile, oldest first.")


class ExperimentName(Model):
    name: str
    state: State
    since: Time
    until: Time | None


class Experiments(Model):
    model_config = example(
        {
            "experiments": [
                {
                    "name": "fairer-home",
                    "state": "ended",
                    "since": "2026-11-19T15:40:25.123Z",
                    "until": "2026-11-26T15:40:25.123Z",
                }
            ]
        }
    )
    experiments: list[ExperimentName] = Field(
        description="The one that runs first, then those that have ended, newest first."
    )
