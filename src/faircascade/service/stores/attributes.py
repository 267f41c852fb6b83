"""What items are beside their features: values by name, and how a change of them is taken in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Value = str | float | bool | list[str]
"""Text, a number, true or false, or a list of texts."""
Attributes = Mapping[str, Value]
"""Of one item, by name."""
AttributeChanges = Mapping[str, Value | None]
"""Those to set; None removes one."""


def changed_attributes(old: Attributes, changes: AttributeChanges) -> dict[str, Value]:
    """Return attributes after a change; what it leaves out stays as it was."""
    both = {**old, **changes}
    return {name: value for name, value in both.items() if value is not None}


def write_attributes(attributes: Attributes) -> str:
    """Return attributes as text, a JSON object."""
    return json.dumps(dict(attributes), separators=(",", ":")) if attributes else "{}"


def read_attributes(text: str) -> dict[str, Value]:
    """Return what `write_attributes` wrote."""
    found: dict[str, Any] = {} if text == "{}" else json.loads(text)
    return found
