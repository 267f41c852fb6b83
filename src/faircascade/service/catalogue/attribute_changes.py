"""Check attributes before they are stored."""

from __future__ import annotations

from faircascade.service.catalogue.attribute_columns import kind_of
from faircascade.service.catalogue.attribute_values import attribute_value
from faircascade.service.messages import conflict
from faircascade.service.stores.attributes import AttributeChanges, Value

RESERVED = ("item", "features", "topics", "group", "supplier", "merit", "popularity")
"""Names that are fields of an item already."""
MOST = 200
"""Attributes that items may have, all together."""


def attribute_changes(
    given: AttributeChanges, kinds: dict[str, str], item: str
) -> AttributeChanges:
    """Return changes as a store takes them, or refuse them.

    An attribute is of the same kind for all items: a filter on it says nothing otherwise. `kinds`
    are those that are known, by name; new ones are added.
    """
    if not given:
        return {}
    changes: dict[str, Value | None] = {}
    for name, value in given.items():
        field = f"attributes.{name[:60]}"
        if name in RESERVED:
            raise conflict(field, "is the name of a field; give it beside the attributes")
        value = changes[name] = attribute_value(value)
        if value is None:
            continue
        if name not in kinds and len(kinds) >= MOST:
            raise conflict(field, f"would be one too many: items have {MOST} attributes already")
        if kinds.setdefault(name, kind_of(value)) != kind_of(value):
            rule = f"is {kinds[name]} for other items, got {kind_of(value)} for {item!r}"
            raise conflict(field, rule)
    return changes
