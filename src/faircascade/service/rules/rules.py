"""Rules of a request, rules of the house, and both together."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from faircascade.service.ids import Id
from faircascade.service.limits import Limited
from faircascade.service.rules.where import Where

LARGEST = 1_000_000_000


def _whole(given: object) -> object:
    return int(given) if isinstance(given, float) and given.is_integer() else given


Whole = Annotated[int, Field(ge=1, le=LARGEST), BeforeValidator(_whole)]
AtMost = dict[Literal["group", "supplier"], Whole]
"""The most items of each group, or of each supplier."""


class Pin(BaseModel):
    """An item that stands at a position, whatever the policy thinks of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item: Id
    position: Whole = Field(description="1 for the first.")


Pins = Annotated[list[Pin], Limited("pins")]


class Rules(BaseModel):
    """What all slates must keep to, or those of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: Where | None = None
    at_most: AtMost = {}
    pinned: list[Pin] = []

    @classmethod
    def load(cls, path: str | Path) -> Rules:
        """Read a file of rules, TOML or JSON."""
        path = Path(path).expanduser()
        try:
            text = path.read_text("utf-8")
            plain = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        except OSError as error:
            raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
        except ValueError as error:  # also what is not UTF-8
            raise ValueError(f"{path}: is not {_format(path)}: {error}") from None
        try:
            rules = cls.model_validate(plain)
        except ValidationError as error:
            from faircascade.service.http.validation_errors import first_in

            raise ValueError(f"{path}: {first_in(cls, error)}") from None
        if wrong := wrong_pins(rules.pinned, LARGEST):
            raise ValueError(f"{path}: pinned {wrong}")
        return rules


def _format(path: Path) -> str:
    return "JSON" if path.suffix.lower() == ".json" else "TOML"


def wrong_pins(pins: Sequence[Pin], k: int) -> str:
    """Return what is wrong with the pins of a slate of k items, or nothing."""
    if (last := max((pin.position for pin in pins), default=0)) > k:
        return f"must have positions up to k = {k}, got {last}"
    for name in ("position", "item"):
        values = [getattr(pin, name) for pin in pins]
        if twice := [value for value, count in Counter(values).items() if count > 1]:
            return f"must name each {name} once, got {twice[0]!r} twice"
    return ""


def most_of_both(house: AtMost, request: AtMost) -> AtMost:
    """Return the quotas that keep both rules: the smaller ones."""
    both = dict(house)
    for name, most in request.items():
        both[name] = min(most, both.get(name, most))
    return both


def pins_of_both(house: Sequence[Pin], request: Sequence[Pin], k: int) -> list[Pin]:
    """Return the pins of a slate of k items: those of the house give way to those of the request,
    where both name an item or a position."""
    items, positions = {pin.item for pin in request}, {pin.position for pin in request}
    rest = (pin for pin in house if pin.item not in items and pin.position not in positions)
    return sorted(chain(request, (pin for pin in rest if pin.position <= k)), key=_position)


def _position(pin: Pin) -> int:
    return pin.position
