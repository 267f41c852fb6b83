"""Items."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, FiniteFloat

from faircascade.service.catalogue.attribute_values import AttributeValues
from faircascade.service.http.schemas.base import Batch
from faircascade.service.ids import LARGEST_FEATURE, Id, Label
from faircascade.service.limits import Limited
from faircascade.service.messages import Model, example

Topic = Annotated[FiniteFloat, Field(ge=0, le=1)]
Feature = Annotated[FiniteFloat, Field(ge=-LARGEST_FEATURE, le=LARGEST_FEATURE)]


class ItemBody(Model):
    model_config = example(
        {
            "features": [0.1, -0.3],
            "merit": 0.2,
            "group": "jazz",
            "supplier": "blue",
            "topics": [1.0, 0.0],
            "attributes": {"language": "de", "price": 9.5, "tags": ["sale", "new"]},
        },
        {"features": [0.1, -0.3], "popularity": 120, "supplier": "", "topics": [0.0, 0.5]},
    )
    features: Annotated[list[Feature], Limited("features", exactly=True)] = Field(
        description="As many as those of every other item."
    )
    merit: FiniteFloat | None = Field(
        None, gt=0, description="What exposure is measured against; as before, or 1, if left out."
    )
    popularity: FiniteFloat | None = Field(
        None, ge=0, description="What some policies rank by; as before, or 0, if left out."
    )
    group: Label | None = Field(
        None, description='"a|b" is a member of both groups, "" of none; as before if left out.'
    )
    supplier: Label | None = Field(
        None, description='Several with a |, none with ""; as before if left out.'
    )
    topics: Annotated[list[Topic], Limited("topics", exactly=True)] = Field(
        default=[],
        validate_default=True,
        description="How far it covers each topic, from 0 to 1: as many as those of every other "
        "item, left out if these have none.",
    )
    attributes: AttributeValues = Field(
        default={},
        description="What else it is, for filters: text, numbers, true or false, lists of texts. "
        "null, an empty text or an empty list removes one; those left out stay as they were.",
    )


class NewItem(ItemBody):
    model_config = example(
        {"item": "song-12", "features": [0.1, -0.3], "supplier": "blue", "topics": [1.0, 0.0]}
    )
    item: Id


class ItemBatch(Batch):
    model_config = example(
        {"items": [{"item": "song-12", "features": [0.1, -0.3], "topics": [1.0, 0.0]}]}
    )
    items: Annotated[list[NewItem], Limited("batch")] = Field(min_length=1)

    @property
    def entries(self) -> int:
        return len(self.items)


class Item(Model):
    model_config = example(
        {
            "item": "song-12",
            "features": [0.1, -0.3],
            "merit": 0.2,
            "popularity": 120.0,
            "group": "jazz",
            "supplier": "blue",
            "topics": [1.0, 0.0],
            "attributes": {"language": "de", "price": 9.5, "tags": ["sale", "new"]},
        }
    )
    item: str
    features: list[float]
    merit: float
    popularity: float
    group: str | None = None
    supplier: str | None = None
    topics: list[float] = Field(default=[], description="Empty if items have no topics.")
    attributes: AttributeValues = Field(default={}, description="What else it is.")


class ItemPage(Model):
    total: int = Field(description="Items in the catalogue.")
    items: list[Item]


class ItemsChanged(Model):
    changed: int = Field(description="Items that were given.")
    total: int = Field(description="Items in the catalogue now.")
