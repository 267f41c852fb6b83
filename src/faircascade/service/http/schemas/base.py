"""What all documents share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST = 1_000_000_000
"""Larger than any number of things; keeps numbers short enough to be repeated in a message."""
LARGEST_PAGE = 1_000


def whole(given: Any) -> Any:
    """Return a number without a fraction as an integer, and anything else as it is."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


Count = Annotated[int, Field(ge=1, le=MOST), BeforeValidator(whole)]
"""3.0 is a whole number in JSON, as in its schemas; "3" and true are none."""


class Model(BaseModel):
    """Unknown fields are refused: a misspelt one would be ignored otherwise."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def example(*examples: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model with examples."""
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class Paging(Model):
    offset: int = Field(0, ge=0, le=MOST, description="How many to leave out.")
    limit: int = Field(100, ge=1, le=LARGEST_PAGE, description="How many to return at most.")
