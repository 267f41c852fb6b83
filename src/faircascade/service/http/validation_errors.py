"""Validation errors as messages: the field, the rule, the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from faircascade.service.ids import NAME, NAME_RULE

LONGEST_VALUE = 80
"""Characters of a value that are repeated at most."""
LONGEST_MESSAGE = 400
MOST_ERRORS = 100
"""Errors that are named at most; a large body may have millions."""

_KEY = "[key]"
"""What pydantic puts after the name of an entry whose name is wrong."""
_QUOTED = re.compile(rf"'([^']{{{LONGEST_VALUE}}})[^']{{20,}}'")

FieldErrors = list[dict[str, str]]
"""`FieldError` of the API."""


def errors_in(model: type[BaseModel], error: ValidationError) -> FieldErrors:
    """Return what is wrong with a body that should have been a model."""
    if error.error_count() > MOST_ERRORS:  # taking them all apart would need memory for each
        return [
            field_error("body", f"is wrong in {error.error_count():,} places, too many to name")
        ]
    return describe(error.errors(include_url=False), "body", model)


def describe(
    errors: Iterable[Mapping[str, Any]], where: str = "", model: type[BaseModel] | None = None
) -> FieldErrors:
    """Return pydantic's errors in our words; `where` goes before the fields."""
    return [_describe(error, where, model) for error in errors][:MOST_ERRORS]


def first_in(model: type[BaseModel], error: ValidationError) -> str:
    """Return the first thing that is wrong with a file that should have been a model.

    A field that does not exist comes first: a typo often makes another one missing.
    """
    errors = error.errors(include_url=False)
    unknown = [one for one in errors if one["type"] == "extra_forbidden"]
    first = describe(unknown[:1] or errors[:1], "", model)[0]
    return f"{first['field']} {first['message']}"


def _describe(
    error: Mapping[str, Any], where: str, model: type[BaseModel] | None
) -> dict[str, str]:
    kind, parts = error["type"], error["loc"]
    if kind == "extra_forbidden" and model is not None:
        message = f"is not a field; there are: {', '.join(_fields(model, parts[:-1]))}"
    elif kind in _WORDS:
        message = _WORDS[kind](error.get("input"), error.get("ctx", {}))
    else:
        message = f"is wrong: {error['msg']}"
    if kind == "json_invalid":
        parts = parts[:0]
    parts = tuple(part for part in parts if part != _KEY)
    return field_error(".".join([*([where] if where else []), *map(_part, parts)]), message)


def field_error(field: str, message: str) -> dict[str, str]:
    """Return a `FieldError` of the API; long names that are quoted in it are cut."""
    return {"field": field, "message": short(_QUOTED.sub(r"'\1...'", message), LONGEST_MESSAGE)}


def value(given: Any) -> str:
    """Return a value as a message repeats it: not all of it if it is long."""
    if isinstance(given, str):
        return short(repr(short(given)), LONGEST_VALUE + 20)  # which may have many escapes
    if given is None:
        return "null"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int | float):
        return short(str(given))
    return "a list" if isinstance(given, Sequence) else "an object"


def short(text: str, limit: int = LONGEST_VALUE) -> str:
    """Return a text, or its first characters if it is long."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _part(part: int | str) -> str:
    return short(str(part))


def _fields(model: type[BaseModel], parts: Sequence[int | str]) -> list[str]:
    """Return the fields of the model that stands at a place within another."""
    for part in parts:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _must(rule: str) -> Callable[[Any, Mapping[str, Any]], str]:
    return lambda given, context: f"must {rule.format(**context)}, got {value(given)}"


def _characters(given: Any, context: Mapping[str, Any]) -> str:
    if not given:
        return "must not be empty"
    return f"must have at most {context['max_length']} characters, got {len(given):,}"


def _pattern(given: Any, context: Mapping[str, Any]) -> str:
    if context.get("pattern") == NAME:
        return f"{NAME_RULE}; got {value(given)}"
    return f"must be text without control characters, got {value(given)}"


_WORDS: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "missing": lambda given, context: "is missing",
    "extra_forbidden": lambda given, context: "is not a parameter here",
    "json_invalid": lambda given, context: f"must be JSON: {context['error']}",
    "limit": lambda given, context: str(context["rule"]),
    "int_type": _must("be a whole number"),
    "int_parsing": _must("be a whole number"),
    "int_from_float": _must("be a whole number"),
    "int_parsing_size": lambda given, context: "must be a whole number of fewer digits",
    "float_type": _must("be a number"),
    "finite_number": _must("be finite"),
    "string_type": _must("be text"),
    "string_too_short": _characters,
    "string_too_long": _characters,
    "string_pattern_mismatch": _pattern,
    "greater_than_equal": _must("be at least {ge:.16g}"),
    "greater_than": _must("be greater than {gt:.16g}"),
    "less_than": _must("be less than {lt:.16g}"),
    "less_than_equal": _must("be at most {le:.16g}"),
    "list_type": _must("be a list"),
    "too_short": lambda given, context: f"must have at least {_entries(context['min_length'])}",
    "too_long": lambda given, context: f"must have at most {_entries(context['max_length'])}",
    "model_type": _must("be an object"),
    "dict_type": _must("be an object"),
    "model_attributes_type": _must("be an object"),
    "literal_error": _must("be one of {expected}"),
}
