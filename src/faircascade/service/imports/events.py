"""What can be imported: one JSON object each, with the fields that the API has for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from faircascade.service.http.schemas.catalogue import NewItem
from faircascade.service.http.validation_errors import describe, value
from faircascade.service.ids import Id
from faircascade.service.messages import FeedbackRequest, Model, example

_TAG = "type"


class FeedbackEvent(FeedbackRequest):
    """What a user did with a slate."""

    model_config = example(
        {"type": "feedback", "impression_id": "1f-Zq3vT0kX5mE", "clicked_position": 2}
    )
    tag: ClassVar[str] = "feedback"
    type: Literal["feedback"]


class ItemChange(NewItem):
    """An item that is new, or different from now on."""

    model_config = example(
        {"type": "put_item", "item": "song-12", "features": [0.1, -0.3], "supplier": "blue"}
    )
    tag: ClassVar[str] = "put_item"
    type: Literal["put_item"]


class ItemRemoval(Model):
    """An item that is not to be recommended any more."""

    model_config = example({"type": "remove_item", "item": "song-12"})
    tag: ClassVar[str] = "remove_item"
    type: Literal["remove_item"]
    item: Id


class UserErasure(Model):
    """A user of whom everything is to be forgotten."""

    model_config = example({"type": "erase_user", "user": "user-7"})
    tag: ClassVar[str] = "erase_user"
    type: Literal["erase_user"]
    user: Id


Event = FeedbackEvent | ItemChange | ItemRemoval | UserErasure
TAGS = tuple(kind.tag for kind in get_args(Event))


@cache
def _adapter() -> TypeAdapter[Event]:
    return TypeAdapter(Annotated[Event, Field(discriminator=_TAG)])


class Malformed(ValueError):  # noqa: N818 - it says what is the matter
    """A text is no event; the message says why, beginning with the field."""


@dataclass(frozen=True, slots=True)
class Record:
    """A text as a source gives it."""

    text: bytes
    at: str
    """Where it stood, for people: the line of a file, the id of an entry."""
    position: Any = None
    """The same for the source."""
    fault: str = ""
    """Why it cannot be an event, if the source knows already."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A text that does not become part of what the service knows."""

    record: Record
    reason: str
    status: int | None = None
    """Of the answer of the service; None if it was not even sent."""


def is_object(text: bytes) -> bool:
    """Return whether a text is a JSON object, so that nothing is missing at its end."""
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False


def read_event(record: Record) -> Event:
    """Return the event that a text is."""
    if record.fault:
        raise Malformed(record.fault)
    try:
        return _adapter().validate_json(record.text, strict=True)
    except ValidationError as error:
        raise Malformed(_fault(error)) from None


def _fault(error: ValidationError) -> str:
    """Return what is wrong with a text, in the words of the API."""
    errors = error.errors(include_url=False)
    first = errors[0]
    if first["type"] in ("dict_type", "model_attributes_type"):
        return "it must be a JSON object"
    if first["type"].startswith("union_tag"):
        got = f", got {value(first['input'][_TAG])}" if _TAG in first["input"] else ""
        return f"{_TAG} must be one of {', '.join(TAGS)}{got}"
    kinds = {kind.tag: kind for kind in get_args(Event)}
    kind = kinds.get(str(first["loc"][0])) if first["loc"] else None
    plain = [{**one, "loc": one["loc"][1:]} for one in errors] if kind else errors
    found = describe(plain, model=kind)
    return "; ".join(f"{one['field'] or 'it'} {one['message']}" for one in found[:3])
