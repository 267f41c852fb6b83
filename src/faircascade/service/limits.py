"""Limits that depend on the service's settings: checked with a body, named in the schema."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

if TYPE_CHECKING:
    from faircascade.service.service import Service

LONGEST = {
    "clicks": 10_000,
    "candidates": 100_000,
    "batch": 10_000,
    "features": 10_000,
    "topics": 10_000,
    "pins": 10_000,
}
"""Most entries of a JSON list, whatever the settings say: entries beyond are not even looked at. A
list is read up to the first wrong entry. Otherwise a few megabytes could keep the
service busy for seconds.
"""
_MARK = "x-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a service allows; the context that bodies are validated in."""

    k: int
    clicks: int
    candidates: int
    batch: int
    features: int
    topics: int
    pins: int

    @classmethod
    def of(cls, service: Service) -> Limits:
        """Return the limits of a service."""
        settings = service.settings
        return cls(
            k=settings.max_k,
            clicks=min(settings.max_k, LONGEST["clicks"]),
            candidates=min(settings.max_candidates, LONGEST["candidates"]),
            batch=min(settings.max_batch, LONGEST["batch"]),
            features=service.dim,
            topics=service.topics,
            pins=min(settings.max_k, LONGEST["pins"]),
        )


@dataclass(frozen=True, slots=True)
class Limited:
    """Annotates a number or a list: it is as large as one of the `Limits` at most, or exactly."""

    name: str
    exactly: bool = False

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        if schema["type"] == "list":
            more = {"fail_fast": True, "max_length": LONGEST[self.name]}
            schema = cast(CoreSchema, {**schema, **more})
        return core_schema.with_info_after_validator_function(self._check, schema)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), _MARK: {"name": self.name, "exactly": self.exactly}}

    def _check(self, value: Any, info: ValidationInfo) -> Any:
        if info.context is None:
            return value
        limit = getattr(info.context, self.name)
        size = value if isinstance(value, int) else len(value)
        if size > limit or (self.exactly and size < limit):
            raise PydanticCustomError("limit", "{rule}", {"rule": self._rule(value, size, limit)})
        return value

    def _rule(self, value: Any, size: int, limit: int) -> str:
        if isinstance(value, int):
            return f"must be at most {limit}, got {size}"
        verb = "must have" if self.exactly else "must have at most"
        return f"{verb} {limit:,} {'entry' if limit == 1 else 'entries'}, got {size:,}"


def fill_in(schema: Any, limits: Limits) -> None:
    """Write the limits into a JSON schema, wherever something in it is limited."""
    if isinstance(schema, list):
        for part in schema:
            fill_in(part, limits)
    elif isinstance(schema, dict):
        if mark := schema.pop(_MARK, None):
            limit = getattr(limits, mark["name"])
            schema["maximum" if schema["type"] == "integer" else "maxItems"] = limit
            if mark["exactly"]:
                schema["minItems"] = limit
        for name in ("features", "topics"):
            _fill_in_numbers(schema, name, getattr(limits, name))
        for part in schema.values():
            fill_in(part, limits)


def _fill_in_numbers(schema: dict[str, Any], name: str, size: int) -> None:
    """Make a schema and its examples true of a catalogue whose items have so many numbers."""
    shown, there = schema.get(name), schema.get("properties", {}).get(name, {})
    if isinstance(shown, list):  # an example
        schema[name] = list(islice(cycle(shown), size))
    if size and there.pop("default", None) is not None:
        schema["required"] = [*schema["required"], name]
