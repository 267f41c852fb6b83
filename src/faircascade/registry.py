"""Names for components: what the command line, spec files, docs tables and contract tests see.

A component is a frozen dataclass of its parameters that derives from the base class of its room
(`Exploration`, `RewardModel`, ...). `@register("name")` is all it takes to be found: the modules
of each room, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a name is first looked up.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, ClassVar, TypeVar

ROOMS = (
    "data",
    "clicks",
    "environment.dynamics",
    "environment.delays",
    "observations",
    "rewards",
    "estimators",
    "exploration",
    "rerankers",
    "policies",
    "metrics",
)
ENTRY_POINTS = "faircascade.components"


class Component(ABC):  # noqa: B024 - rooms have the abstract methods
    """Base of everything that can be registered; `kind` names the room."""

    kind: ClassVar[str] = ""
    name: ClassVar[str] = ""
    engines: ClassVar[frozenset[str]] = frozenset()
    """Compiled engines that have a kernel for this class. It is not inherited (`engines_of`): a
    subclass may do something else."""

    def kernel(self) -> Mapping[str, Any]:
        """Return the numbers that these engines run it by, named as their kernels name them."""
        return {}


C = TypeVar("C", bound=type[Component])

_registered: dict[str, dict[str, type[Component]]] = {}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a component, for help texts and tables."""

    name: str
    type: str
    default: Any
    """`dataclasses.MISSING` if it has none."""


def register(name: str, *, engines: Iterable[str] = ()) -> Callable[[C], C]:
    """Give a component class its public name, and say which compiled engines have it."""

    def add(cls: C) -> C:
        if not cls.kind:
            raise TypeError(f"{cls.__name__} must derive from the base class of its room")
        taken = _registered.setdefault(cls.kind, {}).get(name)
        if taken is not None and _full_name(taken) != _full_name(cls):
            raise ValueError(f"{cls.kind} {name!r} is already {_full_name(taken)}")
        cls.name = name
        cls.engines = frozenset(engines)
        _registered[cls.kind][name] = cls
        return cls

    return add


def engines_of(thing: object) -> frozenset[str]:
    """Return the compiled engines that a thing's own class says have a kernel for it."""
    return frozenset(vars(type(thing)).get("engines", ()))


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@cache
def _import_rooms() -> None:
    from importlib.metadata import entry_points  # slow to import, and needed only here

    for room in ROOMS:
        package = importlib.import_module(f"faircascade.{room}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for entry in entry_points(group=ENTRY_POINTS):
        entry.load()


def kinds() -> list[str]:
    """Return every kind of component."""
    _import_rooms()
    return sorted(_registered)


def components(kind: str) -> dict[str, type[Component]]:
    """Return the registered classes of one kind by name, sorted."""
    _import_rooms()
    return dict(sorted(_registered.get(kind, {}).items()))


def lookup(kind: str, name: str) -> type[Component]:
    """Return the class registered as `name`, or explain what there is."""
    known = components(kind)
    if name in known:
        return known[name]
    raise ValueError(
        f"{kind} must be one of {', '.join(known)}{suggest(name, known)}, got {name!r}"
    )


def build(kind: str, name: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """Construct the component registered as `name`; unknown parameters are refused."""
    cls = lookup(kind, name)
    parameters = dict(parameters or {})
    known = {p.name: p.type for p in parameters_of(cls)}
    for given, value in parameters.items():
        if given not in known:
            raise ValueError(
                f"{kind} {name!r} has no parameter {given!r}"
                f"{suggest(given, known)} (it has: {', '.join(known) or 'none'})"
            )
        check_type(given, known[given], value)
    return cls(**parameters)


def as_component(kind: str, value: Any) -> Any:
    """Turn a name into the component with its defaults; refuse what is not one."""
    if isinstance(value, str):
        return build(kind, value)
    if getattr(value, "kind", None) != kind or isinstance(value, type):
        raise ValueError(f"{kind} must be a name or a component of that kind, got {value!r}")
    return value


_PLAIN_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "float": ((int, float), "a number"),
    "int": ((int,), "a whole number"),
    "bool": ((bool,), "True or False"),
    "str": ((str,), "text"),
    "Sequence[int] | int": ((int, list, tuple), "a whole number or a list of them"),
}


def check_type(name: str, annotation: str, value: Any) -> None:
    """Refuse a value whose plain type is not the annotated one; other annotations pass."""
    optional = annotation.endswith(" | None")
    wanted = _PLAIN_TYPES.get(annotation.removesuffix(" | None"))
    if wanted is None or (optional and value is None):
        return
    types, words = wanted
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"{name} must be {words}, got {value!r}")


def parameters_of(cls: type[Component]) -> list[Parameter]:
    """List the parameters of a component class."""
    result = []
    for f in fields(cls):  # type: ignore[arg-type]
        default = f.default
        if default is MISSING and f.default_factory is not MISSING:
            default = f.default_factory()
        result.append(Parameter(f.name, str(f.type), default))
    return result


def to_spec(component: Component) -> dict[str, Any]:
    """Describe a component as plain data: `{"name": ..., parameter: value, ...}`."""
    spec: dict[str, Any] = {"name": component.name}
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        if isinstance(value, Component):
            value = to_spec(value)
        elif isinstance(value, tuple):
            value = list(value)
        elif hasattr(value, "item"):  # a NumPy scalar
            value = value.item()
        elif callable(value):
            raise TypeError(
                f"{component.kind} {component.name!r} holds a function in {parameter.name!r}, "
                "which a spec file cannot; give its values instead"
            )
        spec[parameter.name] = value
    return spec


def flat_spec(component: Component) -> dict[str, Any]:
    """Return every parameter by its dotted name, those of nested components included."""
    flat: dict[str, Any] = {}
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        flat[parameter.name] = value.name if isinstance(value, Component) else value
        if isinstance(value, Component):
            nested = flat_spec(value).items()
            flat.update({f"{parameter.name}.{name}": inner for name, inner in nested})
    return flat


def from_spec(kind: str, spec: Mapping[str, Any]) -> Any:
    """Construct the component that `to_spec` described."""
    parameters = {}
    for key, value in spec.items():
        if key == "name":
            continue
        if isinstance(value, Mapping):
            if "name" not in value:
                raise ValueError(f"{key} must say its name, got {dict(value)}")
            value = from_spec(key, value)
        parameters[key] = tuple(value) if isinstance(value, list) else value
    return build(kind, spec["name"], parameters)


def suggest(given: str, known: Any) -> str:
    """Return `" (did you mean 'x'?)"` for a near miss, else nothing."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
