"""What a spec file may say, as pydantic models: keys and types.

A grid stands where a value of [data], [environment] or a policy would, so these tables are open
here; their values are checked by their own types once grids are expanded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    ValidationError,
)

from faircascade.engine.result import HEADLINE
from faircascade.errors import ParameterError, UnknownParameterError
from faircascade.experiment.spec.errors import Place, PlacedError
from faircascade.experiment.study_results import SHOW
from faircascade.parameters import rule_of

Count = Annotated[int, Field(ge=1)]
_NAME = r"^\w[\w .+-]*$"


class StrictTable(BaseModel):
    """A table of a spec file."""

    kind: ClassVar[str] = "table"
    """How messages call it."""
    model_config = ConfigDict(extra="forbid", strict=True)


class RunTable(StrictTable):
    """[run]"""

    rounds: NonNegativeInt
    seeds: int | list[int] = 1
    checkpoints: Count | list[int] = 40


class TuneTable(StrictTable):
    """[tune]"""

    policy: str | int | None = None
    maximize: str | None = None
    minimize: str | None = None
    subject_to: str | list[str] = []
    trials: Count = 30
    seeds: int | list[int] = 3
    rounds: Count | None = None
    sampler_seed: NonNegativeInt = 0
    fairest_within: str | None = None
    environment: dict[str, Any] = {}
    every_policy: dict[str, Any] = {}
    search: dict[str, Any] = {}


class PolicyTable(StrictTable):
    """One of [[policies]]: its name, what to search if all are tuned, and parameters of that
    policy."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str
    rounds: Count | None = None
    search: dict[str, Any] | None = None


class SpecTable(StrictTable):
    """All of a spec file."""

    name: Annotated[str, StringConstraints(pattern=_NAME)]
    title: str | None = None
    about: str = ""
    components: list[str] = []
    show: list[str] = list(SHOW)
    metrics: Annotated[list[str], Field(min_length=1)] = list(HEADLINE)
    baseline: str | None = None
    data: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    run: RunTable
    every_policy: dict[str, Any] = {}
    policies: Annotated[list[PolicyTable], Field(min_length=1)]
    tune: TuneTable = TuneTable()

    @classmethod
    def check(cls, given: Mapping[str, Any]) -> SpecTable:
        """Return what a spec says, or the place of the first mistake."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise _placed(error, given) from None


_RULES = {
    "string_pattern_mismatch": "must be letters, digits, '_', '-', '.' or '+'",
    "too_short": "must have at least one entry",
}


def _placed(error: ValidationError, given: Mapping[str, Any]) -> PlacedError:
    """Return the first mistake that pydantic found, in our words and with its place."""
    # a key that is not known may be a misspelt one that is missing
    first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    loc: Place = first["loc"]
    if first["type"] == "missing":
        *above, key = loc
        return PlacedError(f"{_owner(above)} must have {_key(loc)}", tuple(above))
    if first["type"] == "extra_forbidden":
        *above, key = loc
        unknown = UnknownParameterError(str(key), _owner(above), _keys(above), what="key")
        return PlacedError(str(unknown), loc)
    place, value = _inside(given, loc)
    errors = [e for e in error.errors() if e["loc"][: len(place)] == place]
    rule = _RULES.get(first["type"]) or rule_of(_annotation(place), value, errors)
    return PlacedError(str(ParameterError(str(place[-1]), rule, value)), place)


def _inside(given: Any, loc: Place) -> tuple[Place, Any]:
    """Return how far a place is there (pydantic adds the types of a union), and what is there."""
    for depth, step in enumerate(loc):
        try:
            given = given[step]
        except (KeyError, IndexError, TypeError):
            return loc[:depth], given
    return loc, given


def _annotation(place: Place) -> Any:
    annotation: Any = SpecTable
    for step in place:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(step))
            annotation = field.annotation if field else Any
        elif isinstance(step, int):
            inner = [t for t in getattr(annotation, "__args__", ()) if t is not type(None)]
            annotation = inner[-1] if inner else Any
    return annotation


def _keys(above: list[str | int]) -> list[str]:
    table = _annotation(tuple(above))
    return list(table.model_fields) if issubclass(table, BaseModel) else []


def _key(place: Place) -> str:
    """Return how a key of a table is written: "the key 'rounds'", "the table [run]"."""
    annotation = _annotation(place)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"the table [{place[-1]}]"
    return "at least one [[policies]]" if place == ("policies",) else f"the key {place[-1]!r}"


def _owner(above: list[str | int]) -> str:
    return f"[{'.'.join(map(str, above))}]" if above else "the spec"
