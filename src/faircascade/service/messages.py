"""Requests to the service and its answers, in process and over HTTP alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from faircascade.errors import ParameterError
from faircascade.service.ids import LONGEST_ID, MOST_LABELS, Id, Name, UserLabel
from faircascade.service.limits import Limited
from faircascade.service.rules.rules import AtMost, Pins
from faircascade.service.rules.where import Where
from faircascade.service.stores.attributes import AttributeChanges
from faircascade.types import Floats

T = TypeVar("T")


class Reason(Enum):
    """Why something was refused."""

    INVALID = "invalid"
    """It can never succeed as it is."""
    UNKNOWN = "unknown"
    """Not found, or not kept any more."""
    CONFLICT = "conflict"
    """It contradicts what happened before."""


class Refused(Exception):  # noqa: N818 - an answer rather than an error
    """The service will not do it; nothing changed."""

    def __init__(self, reason: Reason, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.reason = reason
        self.field = field
        """What it is about, such as `k`."""
        self.message = message
        """Reads on from the field: `must be at least 1, got 0`."""


def invalid(field: str, message: str) -> Refused:
    """Return a refusal of what can never succeed."""
    return Refused(Reason.INVALID, field, message)


def conflict(field: str, message: str) -> Refused:
    """Return a refusal of what contradicts the catalogue, or what else is known."""
    return Refused(Reason.CONFLICT, field, message)


@contextmanager
def refusals(within: str = "") -> Iterator[None]:
    """Refuse what parts of the service find wrong with parameters; they are `within` a field."""
    try:
        yield
    except ParameterError as error:
        message = str(error)
        if message.startswith(f"{error.name} "):
            field = f"{within}.{error.name}" if within else error.name
            raise invalid(field, message.removeprefix(f"{error.name} ")) from None
        raise invalid(within or error.name, f"cannot be used: {message}") from None
    except (ValueError, TypeError) as error:
        if not within:
            raise
        raise invalid(within, f"cannot be used: {error}") from None


MOST = 1_000_000_000
"""Upper bound of counts, so that a message can repeat them."""


def whole(given: Any) -> Any:
    """Return a number without a fraction as an integer, and anything else as it is."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def each_once(positions: list[int]) -> list[int]:
    """Refuse positions that are named twice."""
    for before, position in pairwise(sorted(positions)):
        if before == position:
            rule = f"must name each position once, got {position} twice"
            raise PydanticCustomError("limit", "{rule}", {"rule": rule})
    return positions


def first(values: Sequence[T] | None) -> T | None:
    """Return the first of several values, None if there are none."""
    return values[0] if values else None


Count = Annotated[int, Field(ge=1, le=MOST), BeforeValidator(whole)]
"""3.0 is a whole number in JSON and its schemas; "3" and true are not."""


class Model(BaseModel):
    """Unknown fields are refused: a misspelt one would be ignored otherwise."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def example(*examples: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model with examples."""
    return ConfigDict(json_schema_extra={"examples": list(examples)})


Positions = Annotated[
    list[Count],
    Limited("clicks"),
    AfterValidator(each_once),
    Field(json_schema_extra={"uniqueItems": True}),
]
UserLabels = Annotated[
    dict[Name, UserLabel],
    Field(max_length=MOST_LABELS, json_schema_extra={"additionalProperties": False}),
]
SomeIds = Annotated[list[Id], Limited("candidates")]


class RecommendationRequest(Model):
    model_config = example(
        {"user": "user-7", "k": 3},
        {"user": "user-7", "k": 3, "candidates": ["song-1", "song-2", "song-3", "song-4"]},
        {"user": "user-7", "exclude": ["song-9"]},
        {"user": "user-8", "k": 3, "user_labels": {"country": "de", "device": "phone"}},
        {
            "user": "user-7",
            "where": {"group": "jazz", "popularity": {"at_least": 10}},
            "at_most": {"supplier": 2},
            "pinned": [{"item": "song-3", "position": 1}],
        },
    )
    user: Id = Field(description="Whom the slate is for; an unknown user starts cold.")
    k: Annotated[Count, Limited("k")] = Field(
        default=10, description="Length of the slate; shorter if fewer items are left."
    )
    candidates: SomeIds | None = Field(
        default=None,
        description="Choose among these items only; those not in the catalogue are ignored.",
    )
    exclude: SomeIds = Field(
        default=[], description="Items to leave out; those not in the catalogue are ignored."
    )
    where: Where | None = Field(
        default=None,
        description="Conditions on attributes, `group`, `supplier`, `merit` and `popularity`, all "
        "of which must hold: a value, or an object with `is`, `any`, `all`, `not`, `at_least`, "
        "`at_most`, `above`, `below` or `known`.",
    )
    at_most: AtMost = Field(
        default={},
        description="The most items of each supplier, or of each group. Items are taken in the "
        "order of the policy; one that would be too many is passed over.",
    )
    pinned: Pins = Field(
        default=[],
        description="Items that stand at positions of the slate, the others being ranked around "
        "them. Those that are not in the catalogue, or that `where` or `exclude` rule out, are "
        "ignored; `candidates` say nothing about them.",
    )
    user_labels: UserLabels = Field(
        default={},
        description="What the user is, such as country and device, in few different values. With "
        "`--cold-start`, a user of whom little is known begins with what users with these labels "
        "have taught; without, they are ignored.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A slate that was handed out, and so counts as shown."""

    impression_id: str
    user: str
    items: Sequence[str]
    """Best first."""
    scores: Sequence[float | None]
    """What the policy ranked the items by; None for those that are pinned."""
    policy: Mapping[str, str]
    """Its name and version."""

    def document(self) -> dict[str, Any]:
        """Return it as the API describes it: plain dictionaries are the fastest to write."""
        ranked = zip(self.items, self.scores, strict=True)
        return {
            "impression_id": self.impression_id,
            "user": self.user,
            "items": [{"item": item, "score": score} for item, score in ranked],
            "policy": self.policy,
        }


Amount = Annotated[float, Field(strict=True, ge=0, le=MOST, allow_inf_nan=False)]


class PositionValues(BaseModel):
    """What a position led to, by names that the operator chose."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra={"minProperties": 2})
    __pydantic_extra__: dict[str, Amount] = Field(init=False)
    position: Count = Field(description="1 for the first.")

    @model_validator(mode="after")
    def _some(self) -> PositionValues:
        if not self.named:
            rule = f"must have a value, such as watch_seconds, at position {self.position}"
            raise PydanticCustomError("limit", "{rule}", {"rule": rule})
        return self

    @property
    def named(self) -> dict[str, float]:
        """Values by name, in the order of names."""
        return dict(sorted((self.__pydantic_extra__ or {}).items()))


SomeValues = Annotated[list[PositionValues], Limited("clicks")]


class FeedbackRequest(Model):
    model_config = example(
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_position": 2},
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_positions": [2, 5]},
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_item": "song-8"},
        {"impression_id": "1f-Zq3vT0kX5mE", "clicked_position": None, "shown": 4},
        {
            "impression_id": "1f-Zq3vT0kX5mE",
            "clicked_position": 2,
            "values": [{"position": 2, "watch_seconds": 95}],
        },
    )
    impression_id: str = Field(
        min_length=1,
        max_length=LONGEST_ID,
        description="Impression that it is about.",
    )
    clicked_position: Count | None = Field(
        default=None, description="Position of the only click, 1 for the first; null for none."
    )
    clicked_positions: Positions | None = Field(
        default=None,
        description="Positions of all clicks, each once, in place of `clicked_position`.",
    )
    clicked_item: Id | None = Field(
        default=None, description="The only clicked item, in place of its position."
    )
    shown: Count | None = Field(
        default=None,
        description="How many positions were shown, counted from the top, if not all: the others "
        "do not count as exposure.",
    )
    values: SomeValues | None = Field(
        default=None,
        description="What positions led to beyond clicks, by names that the service knows "
        "(`serve --rewards`); they need not have been clicked.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackReceipt:
    """What was learned from feedback, now or before."""

    impression_id: str
    clicked_positions: Sequence[int]
    clicked_items: Sequence[str]
    """The items at these positions."""
    shown: int
    """Positions learned from, counted from the top."""
    unshown: int = 0
    """Positions that were not shown."""
    values: Sequence[tuple[int, Mapping[str, float]]] = ()
    """Values by position."""
    reward: float = 0.0
    """What all positions are worth together; one for a click if nothing else is said."""
    repeated: bool = False
    """True if it had been learned before; not sent, so that a repeated answer is the same."""

    def document(self) -> dict[str, Any]:
        """Return it as the API describes it."""
        return {
            "impression_id": self.impression_id,
            "clicked_position": first(self.clicked_positions),
            "clicked_item": first(self.clicked_items),
            "clicked_positions": self.clicked_positions,
            "clicked_items": self.clicked_items,
            "shown": self.shown,
            "values": value_documents(self.values),
        }


def value_documents(values: Iterable[tuple[int, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Return values as the API describes them."""
    return [{"position": position, **named} for position, named in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """The new state of an item; None leaves a field as it was, an empty label removes it."""

    item: str
    features: Floats | Sequence[float]
    merit: float | None = None
    popularity: float | None = None
    group: str | None = None
    supplier: str | None = None
    topics: Floats | Sequence[float] = ()
    """Never as it was: as many as those of every other item."""
    attributes: AttributeChanges = field(default_factory=dict)
    """Those to set; None removes one, and so does an empty text or list."""
