"""Parameters of parts and functions: their types, how values are checked, what they mean."""

from __future__ import annotations

import ast
import inspect
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, cached_property, wraps
from itertools import pairwise
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from faircascade.errors import (
    MissingParameterError,
    ParameterError,
    UnknownParameterError,
    suggest,
)

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "text",
    dict: "a table",
    type(None): "none",
    Path: "a path",
}
_IMPLIED = ("self", "cls")
_LIMITS = {
    "greater_than": ("gt", "must be above"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be below"),
    "less_than_equal": ("le", "must be at most"),
}
"""Errors of pydantic about limits: where the limit is, and how the rule begins."""


@dataclass(frozen=True)
class Parameter:
    """A parameter with its type; `check` is what every value goes through."""

    name: str
    type: Any
    """The annotation, resolved."""
    default: Any
    """`dataclasses.MISSING` if it has none."""
    description: str = ""

    @cached_property
    def members(self) -> tuple[Any, ...]:
        """The types of a union, or the only type."""
        return tuple(_members(self.type))

    @cached_property
    def kind(self) -> str:
        """The kind of component that it takes; empty if it takes none."""
        kinds = (getattr(t, "kind", "") for t in self.members if isinstance(t, type))
        return next((kind for kind in kinds if isinstance(kind, str) and kind), "")

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes, if it takes one of a few."""
        return tuple(_choices(self.type))

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole."""
        return int in self.members and float not in self.members

    @cached_property
    def _adapter(self) -> Any:
        from pydantic import ConfigDict, TypeAdapter

        return TypeAdapter(
            self.type,
            config=ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False),
        )

    def check(self, value: Any) -> Any:
        """Return a value as its type has it (1 is 1.0 for a float), or refuse it."""
        # parts are made for every request, so the usual cases are fast
        if type(value) is self.type and (self.type is not float or math.isfinite(value)):
            return value
        if type(value) is str and value in self.choices:
            return value
        from pydantic import ValidationError

        try:
            return self._adapter.validate_python(_plain(value, self.members))
        except ValidationError as error:
            rule = rule_of(self.type, value, error.errors())
            raise ParameterError(self.name, rule, value) from None


def rule_of(annotation: Any, value: Any, errors: Sequence[Mapping[str, Any]]) -> str:
    """Say what pydantic found a value not to be."""
    for error in errors:
        if isinstance(own := error.get("ctx", {}).get("error"), ParameterError):
            return own.rule
        if error["type"] == "finite_number":
            return "must be finite"
        if error["type"] in _LIMITS:
            limit, rule = _LIMITS[error["type"]]
            return f"{rule} {error['ctx'][limit]}"
    close = suggest(value, _choices(annotation)) if isinstance(value, str) else ""
    return f"must be {words(annotation)}{close}"


def _choices(annotation: Any) -> list[str]:
    literals = (t for t in _members(annotation) if get_origin(t) is Literal)
    return [str(choice) for literal in literals for choice in get_args(literal)]


def words(annotation: Any) -> str:
    """Say what a type takes.

    >>> words(float), words(int | None), words(Literal["svd", "lstsq"]), words(tuple[str, ...])
    ('a number', 'a whole number', 'one of svd, lstsq', 'a list of text')
    >>> words(tuple[tuple[float, ...], ...])
    'a list of lists of numbers'
    """
    found = [_word(t) for t in _members(annotation) if t is not type(None)]
    return " or ".join(dict.fromkeys(found)) or "none"


def _word(annotation: Any) -> str:
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(annotation)))}"
    if origin in _PLAIN:
        return _PLAIN[origin]
    if origin is Callable:
        return "a function"
    if hasattr(origin, "tolist"):
        return "an array"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        inner = [words(t) for t in get_args(annotation) if t is not Ellipsis]
        return f"a list of {_plural(inner[0])}" if inner else "a list"
    return f"a {getattr(origin, 'kind', '') or getattr(origin, '__name__', origin)}"


def _plural(word: str) -> str:
    if word.startswith("a list"):
        return word.replace("a list", "lists", 1)
    return f"{word[2:]}s" if word.startswith("a ") else word


def _members(annotation: Any) -> Iterator[Any]:
    """Yield the types of a union, without what is said about them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _plain(value: Any, members: Sequence[Any]) -> Any:
    """Return NumPy's numbers and arrays as plain ones, and lists as tuples."""
    if hasattr(value, "tolist") and not any(hasattr(get_origin(t) or t, "tolist") for t in members):
        value = value.tolist()
    return tuple(_plain(v, ()) for v in value) if isinstance(value, list | tuple) else value


def parameters_of(cls: type) -> tuple[Parameter, ...]:
    """List the parameters of a part: the fields of its dataclass."""
    return _fields_of(cls)


@cache
def _fields_of(cls: Any) -> tuple[Parameter, ...]:
    hints, said = _hints(cls), descriptions_of(cls)
    result = []
    for f in fields(cls):
        default = f.default
        if default is MISSING and f.default_factory is not MISSING:
            default = f.default_factory()
        result.append(Parameter(f.name, hints.get(f.name, Any), default, said.get(f.name, "")))
    return tuple(result)


def parameters_by_name(cls: type) -> dict[str, Parameter]:
    """Return the parameters of a part by name."""
    return _by_name(cls)


@cache
def _by_name(cls: Any) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in _fields_of(cls)}


def parameters_of_function(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """List the keyword parameters of a function."""
    hints = _hints(function)
    return tuple(
        Parameter(name, hints.get(name, Any), MISSING if p.default is p.empty else p.default)
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    )


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function refuse keywords that it does not have and values of the wrong type.

    Only numbers, texts, choices and paths are checked; the rest is for the function to look at.
    """
    taken = inspect.signature(function).parameters
    by_place = [name for name, p in taken.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    known = [name for name, p in taken.items() if p.kind is not p.VAR_KEYWORD]
    listed = [name for name in known if name not in _IMPLIED]
    by_name = known[len(by_place) :]
    needed = [name for name in known if taken[name].default is inspect.Parameter.empty]

    def owner(first: Any = None, *_: Any) -> str:
        if by_place[:1] == ["cls"]:  # the class may have inherited it
            return f"{first.__name__}.{function.__name__}()"
        return f"{function.__qualname__.removesuffix('.__init__')}()"

    @wraps(function)
    def checked(*arguments: P.args, **given: P.kwargs) -> R:
        if by_name and len(arguments) > len(by_place):
            first = ", ".join(name for name in by_place if name in listed)
            raise TypeError(
                f"{owner(*arguments)} takes all but {first} by name: write {by_name[0]}=..."
            )
        for name in given:
            if name not in known and len(known) == len(taken):
                raise UnknownParameterError(name, owner(*arguments), listed)
        for name in needed:
            if name not in given and name not in by_place[: len(arguments)]:
                raise MissingParameterError(name, owner(*arguments))
        plain, placed = _plain_parameters(function), zip(by_place, arguments, strict=False)
        values = [plain[n].check(v) if n in plain else v for n, v in placed]
        named = {n: plain[n].check(v) if n in plain else v for n, v in given.items()}
        return function(*values, **named)  # type: ignore[arg-type]

    return checked


@cache
def _plain_parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a function that take numbers, texts, choices and paths alone."""
    return {
        name: parameter
        for name, hint in _hints(function).items()
        for parameter in [Parameter(name, hint, MISSING)]
        if all(t in _PLAIN or get_origin(t) is Literal for t in parameter.members)
    }


def _hints(owner: Any) -> dict[str, Any]:
    """Return the types of annotations; those that cannot be resolved here take anything."""
    try:
        return get_type_hints(owner, include_extras=True)
    except NameError:  # of a class that only its author's module knows while it is checked
        return {}


def descriptions_of(cls: type) -> dict[str, str]:
    """Return what the source says below each attribute of a class, inherited ones included."""
    found: dict[str, str] = {}
    for base in filter(is_dataclass, reversed(cls.__mro__)):
        found |= _documented(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Return the attribute docstrings of a module by class; none where there is no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return {}
    return {
        node.name: dict(_attributes(node.body))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _attributes(body: Sequence[ast.stmt]) -> Iterable[tuple[str, str]]:
    for statement, below in pairwise(body):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.target.id, inspect.cleandoc(text)
