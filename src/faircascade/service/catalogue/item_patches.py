"""Changes of items as clients ask for them, checked, as stores take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faircascade.service.catalogue.attribute_changes import attribute_changes
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.ids import LARGEST_FEATURE
from faircascade.service.messages import ItemChange, invalid
from faircascade.service.stores.base import ItemPatch
from faircascade.types import Floats


def item_patches(changes: Sequence[ItemChange], catalogue: Catalogue) -> list[ItemPatch]:
    """Return changes as the store takes them, or refuse them."""
    kinds = dict(catalogue.attributes)
    return [_patch(change, catalogue, kinds) for change in changes]


def _patch(change: ItemChange, catalogue: Catalogue, kinds: dict[str, str]) -> ItemPatch:
    features = _numbers("features", change, catalogue.dim, -LARGEST_FEATURE, LARGEST_FEATURE)
    topics = _numbers("topics", change, catalogue.topics, 0.0, 1.0)
    labels = {"group": change.group, "supplier": change.supplier}
    return ItemPatch(
        id=change.item,
        features=np.concatenate([features, topics]),
        merit=change.merit,
        popularity=change.popularity,
        groups={column: label for column, label in labels.items() if label is not None},
        attributes=attribute_changes(change.attributes, kinds, change.item),
    )


def _numbers(field: str, change: ItemChange, size: int, low: float, high: float) -> Floats:
    """Return features or topics of an item, if there are as many as there should be."""
    numbers = np.array(getattr(change, field), dtype=np.float64)
    if numbers.shape != (size,):
        raise invalid(field, f"must be {size} numbers, got {numbers.size} for {change.item!r}")
    if not ((numbers >= low) & (numbers <= high)).all():
        raise invalid(field, f"must be between {low:g} and {high:g}")
    return numbers
