"""Attributes as they come from outside: names and values that are sound by themselves."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from faircascade.service.ids import LONGEST_ID, AttributeName, finite
from faircascade.service.stores.attributes import Value

MOST_OF_AN_ITEM = 100
MOST_TAGS = 100
_TEXT = {"type": "string", "maxLength": LONGEST_ID}
_RULE = (
    f"must be text of at most {LONGEST_ID} characters, a number, true or false, or "
    f" a list of at most {MOST_TAGS} texts"
)
_SCHEMA: dict[str, Any] = {
    "anyOf": [
        _TEXT,
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array", "items": _TEXT, "maxItems": MOST_TAGS},
        {"type": "null"},
    ]
}


def attribute_value(given: Any) -> Value | None:
    """Return the value of an attribute as it is stored, None for nothing; refuse anything else.

    An empty text and an empty list are nothing, and a text counts once in a list.
    """
    if given is None or isinstance(given, bool):
        return given
    if (number := finite(given)) is not None:
        return number
    if _is_text(given):
        return str(given) or None
    if isinstance(given, list) and len(given) <= MOST_TAGS and all(map(_is_text, given)):
        return list(dict.fromkeys(filter(None, given))) or None
    raise PydanticCustomError("limit", "{rule}", {"rule": _RULE})


def _is_text(given: Any) -> bool:
    return isinstance(given, str) and len(given) <= LONGEST_ID


AttributeValue = Annotated[Any, AfterValidator(attribute_value), WithJsonSchema(_SCHEMA)]
AttributeValues = Annotated[dict[AttributeName, AttributeValue], Field(max_length=MOST_OF_AN_ITEM)]
