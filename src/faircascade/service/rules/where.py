"""The language of filters: conditions on what items are, all of which must hold.

`{"language": "de", "price": {"at_most": 20}, "tags": {"any": ["sale"]}}`. A filter is data: nothing
in it is evaluated but comparisons with what items have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    StrictBool,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from faircascade.service.ids import LONGEST_ID, AttributeName, finite

T = TypeVar("T")

MOST_CONDITIONS = 20
MOST_OPERANDS = 1_000


def _operand(given: Any) -> str | float | bool:
    """Return text, a number, or true or false; refuse anything else."""
    if isinstance(given, bool):
        return given
    if (number := finite(given)) is not None:
        return number
    if isinstance(given, str) and len(given) <= LONGEST_ID:
        return given
    rule = f"must be text of at most {LONGEST_ID} characters, a number, true or false"
    raise PydanticCustomError("limit", "{rule}", {"rule": rule})


_SCALAR: dict[str, Any] = {
    "anyOf": [{"type": "string", "maxLength": LONGEST_ID}, {"type": "number"}, {"type": "boolean"}]
}
Operand = Annotated[Any, AfterValidator(_operand), WithJsonSchema(_SCALAR)]
"""What the value of an item is compared with."""
Operands = Annotated[list[Operand], Field(min_length=1, max_length=MOST_OPERANDS)]


def _several(given: Any) -> Any:
    return given if isinstance(given, list) else [given]


class Condition(BaseModel):
    """All that are given must hold. An item without a value satisfies `not` and `known: false`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_: Operand | None = Field(
        default=None, alias="is", description="It is this, or has this tag."
    )
    any: Operands | None = Field(default=None, description="It is, or has, one of these.")
    all: Operands | None = Field(default=None, description="It has all of these tags.")
    not_: (
        Annotated[
            Operands,
            BeforeValidator(
                _several, json_schema_input_type=Annotated[Any, WithJsonSchema(_SCALAR)] | Operands
            ),
        ]
        | None
    ) = Field(default=None, alias="not", description="It is, or has, none of these.")
    at_least: FiniteFloat | None = None
    at_most: FiniteFloat | None = None
    above: FiniteFloat | None = None
    below: FiniteFloat | None = None
    known: StrictBool | None = Field(default=None, description="Whether the item has a value.")

    @property
    def given(self) -> dict[str, Any]:
        """The operators that are given, with what the value of an item is compared with."""
        return self.model_dump(by_alias=True, exclude_none=True)


def _conditions(given: Any) -> Any:
    """Let a value alone stand for `{"is": value}`."""
    if not isinstance(given, Mapping):
        return given
    return {
        name: condition if isinstance(condition, Mapping | Condition) else {"is": condition}
        for name, condition in given.items()
    }


_Input = Annotated[
    dict[AttributeName, Annotated[Any, WithJsonSchema(_SCALAR)] | Condition],
    Field(max_length=MOST_CONDITIONS),
]
Where = Annotated[
    dict[AttributeName, Condition],
    Field(max_length=MOST_CONDITIONS),
    BeforeValidator(_conditions, json_schema_input_type=_Input),
]
"""A filter: conditions by the name of what they are about."""


def key_of(wheres: Iterable[Mapping[str, Condition]]) -> str:
    """Return a short text that is the same for filters that say the same, all of which must hold.

    A filter can be megabytes long, so the text is a digest of it.
    """
    plain = [
        {
            name: {
                operator: sorted(set(map(repr, operand))) if isinstance(operand, list) else operand
                for operator, operand in condition.given.items()
            }
            for name, condition in where.items()
        }
        for where in wheres
    ]
    return blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16).hexdigest()
