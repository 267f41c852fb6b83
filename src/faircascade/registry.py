"""Names for components: what the command line, spec files, docs tables and contract tests see.

A component is a frozen dataclass of its parameters that derives from the base class of its room
(`Exploration`, `RewardModel`, ...). `@register("name")` is all it takes to be found: the modules
of each room, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a name is first looked up. Others are loaded by
`component_files`.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from faircascade.errors import (
    MissingParameterError,
    ParameterError,
    UnknownParameterError,
    one_of,
    parameters_of_part,
)
from faircascade.errors import suggest as suggest
from faircascade.parameters import Parameter, descriptions_of, parameters_by_name
from faircascade.parameters import parameters_of as parameters_of
from faircascade.settings import part_table, underscored
from faircascade.source_code import is_ours, own_sources

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

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
    studied: ClassVar[bool] = False
    """True for the parts of what the study of harm in docs/explanation/worlds.md was about: LinUCB
    under a cascade. It is not inherited either (`declared`)."""
    lacks: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Parameters that one may expect of it, and why it does not have them."""

    def kernel(self) -> Mapping[str, Any]:
        """Return the numbers that these engines run it by, named as their kernels name them."""
        return {}

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        """Return those that depend on the length of slates."""
        return {}


C = TypeVar("C", bound=type[Component])

_registered: dict[str, dict[str, type[Component]]] = {}
_sources: dict[type, dict[str, str]] = {}
"""What `own_sources` found when a class was registered: the code that runs, whatever a file says
by now."""


def register(name: str, *, engines: Iterable[str] = ()) -> Callable[[C], C]:
    """Give a component class its public name, and say which compiled engines have it."""

    def add(cls: C) -> C:
        if not cls.kind:
            raise TypeError(f"{cls.__name__} must derive from the base class of its room")
        if engines and not is_ours(cls.__module__):
            raise ParameterError(
                "engines", "must be left out: kernels are part of faircascade", [*engines]
            )
        taken = _registered.setdefault(cls.kind, {}).get(name)
        if taken is not None and _full_name(taken) != _full_name(cls):
            raise ValueError(f"{cls.kind} {name!r} is already {_full_name(taken)}")
        if is_dataclass(cls):
            for reserved in ("name", "kind", "engines"):
                if reserved in {f.name for f in fields(cls)}:
                    raise TypeError(f"{cls.__name__} must not have a parameter {reserved!r}")
        cls.name = name
        cls.engines = frozenset(engines)
        _registered[cls.kind][name] = cls
        _sources[cls] = own_sources(cls)
        if is_dataclass(cls):
            _check_arguments(cls)
            _document_parameters(cls)
        return cls

    return add


def declared(thing: object, flag: str) -> Any:
    """Return what a thing's own class says of itself, None if only a parent class says it.

    A subclass may do something else, so that what its parent promises does not bind it.
    """
    return vars(type(thing)).get(flag)


def engines_of(thing: object) -> frozenset[str]:
    """Return the compiled engines that a thing's own class says have a kernel for it."""
    return frozenset(declared(thing, "engines") or ())


def _check_arguments(cls: type[Component]) -> None:
    """Let the constructor check its arguments, as specs and the command line do."""
    if "__init__" not in vars(cls):
        return
    construct: Callable[..., None] = cls.__init__
    by_name = all(f.kw_only for f in fields(cls))  # type: ignore[arg-type]

    @wraps(construct)
    def checked(self: Component, *arguments: Any, **given: Any) -> None:
        known = parameters_by_name(type(self))
        if arguments and by_name:
            names = ", ".join(f"{name}=" for name in known) or "it has none"
            raise TypeError(f"{cls.__name__} takes its parameters by name: {names}")
        for name, value in given.items():
            if name not in known:
                raise _unknown(cls, name)
            given[name] = validated(known[name], value)
        construct(self, *arguments, **given)

    cls.__init__ = checked  # type: ignore[method-assign, assignment]


def _document_parameters(cls: type[Component]) -> None:
    """Put what is said of the parameters into the docstring, which `help()` shows."""
    of = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    said = {name: text for name, text in descriptions_of(cls).items() if name in of}
    if said:
        lines = (f"{name}: {' '.join(text.split())}" for name, text in said.items())
        listing = "\n        ".join(lines)
        cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n\n    Parameters:\n        {listing}\n"


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@cache
def _import_rooms() -> None:
    for room in ROOMS:
        package = importlib.import_module(f"faircascade.{room}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for entry in _advertised():
        try:
            entry.load()
        except Exception as error:  # whatever somebody else's module raises
            raise ValueError(
                f"entry point {entry.name!r} ({entry.value}) of group {ENTRY_POINTS!r} cannot be "
                f"imported: {error}"
            ) from error


def _advertised() -> EntryPoints:
    from importlib.metadata import entry_points  # slow to import, and needed only here

    return entry_points(group=ENTRY_POINTS)


def advertised_modules() -> set[str]:
    """Return the modules that other packages advertise: every process imports them by itself."""
    return {entry.module for entry in _advertised()}


def _own() -> Iterator[type[Component]]:
    every = (cls for some in _registered.values() for cls in some.values())
    return (cls for cls in every if not is_ours(cls.__module__))


def own_parts() -> list[type[Component]]:
    """Return the registered classes that are not part of this package."""
    _import_rooms()
    return list(_own())


def adopt(cls: type[Component], sources: dict[str, str]) -> None:
    """Know a class that was registered in another process, with what `own_code` is of it there."""
    _import_rooms()
    _registered.setdefault(cls.kind, {})[cls.name] = cls
    _sources[cls] = sources


def unregister(module: str) -> None:
    """Forget the parts of a module, which is to be loaded again."""
    for some in _registered.values():
        for name in [name for name, cls in some.items() if cls.__module__ == module]:
            del some[name]


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
    return _named(kind, name, kind)


def find(kind: str, name: Any) -> type[Component] | None:
    """Return the class registered as `name`, whether that is written with '-' or '_', or None."""
    known = components(kind)
    if not isinstance(name, str):
        return None
    if name in known:
        return known[name]
    alike = (cls for other, cls in known.items() if underscored(other) == underscored(name))
    return next(alike, None)


def _named(kind: str, name: Any, parameter: str) -> type[Component]:
    found = find(kind, name)
    if found is not None:
        return found
    known = list(components(kind))
    given = name if isinstance(name, str) else ""
    raise ParameterError(parameter, f"must be {one_of(known, given)}", name)


def build(kind: str, name: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """Construct the component registered as `name`; unknown and missing parameters are refused."""
    return _construct(lookup(kind, name), parameters or {})


def _owner(cls: type[Component]) -> str:
    return f"{cls.kind} {cls.name!r}"


def _unknown(cls: type[Component], name: str) -> UnknownParameterError:
    why = cls.lacks.get(name, "")
    return UnknownParameterError(name, _owner(cls), parameters_by_name(cls), why=why)


def _construct(cls: type[Component], given: Mapping[str, Any]) -> Any:
    known = parameters_by_name(cls)
    for name in given:
        if name not in known:
            raise _unknown(cls, name)
    for parameter in known.values():
        if parameter.default is MISSING and parameter.name not in given:
            raise MissingParameterError(parameter.name, _owner(cls))
    return cls(**given)


def validated(parameter: Parameter, value: Any) -> Any:
    """Return a value as its parameter's type has it; names and tables become components.

    A table without a name is for the part that the parameter has by default.
    """
    kind, name = parameter.kind, parameter.name
    if not kind:
        return parameter.check(value)
    if isinstance(value, Component) and value.kind == kind:
        return value
    if isinstance(value, str) and "(" in value:
        value = part_table(value)
    if isinstance(value, Mapping):
        default = getattr(parameter.default, "name", parameter.default)
        named = {"name": default} if isinstance(default, str) else {}
        with parameters_of_part(name):
            return from_spec(kind, {**named, **value})
    if isinstance(value, str) and str not in parameter.members:
        cls = _named(kind, value, name)
        with parameters_of_part(name):
            return _construct(cls, {})
    several = len([t for t in parameter.members if t is not type(None)]) > 1
    if value is None or (several and not isinstance(value, type)):  # a class is no function here
        return parameter.check(value)
    raise _no_part(name, kind, value)


def as_component(kind: str, value: Any) -> Any:
    """Turn a name, `name(parameter=value)` or a table into the part; refuse what is none."""
    if isinstance(value, str):
        table = part_table(value)
        return build(kind, table.pop("name"), table)
    if isinstance(value, Mapping):
        return from_spec(kind, value)
    if isinstance(value, type) or getattr(value, "kind", None) != kind:
        raise _no_part(kind, kind, value)
    return value


def _no_part(name: str, kind: str, value: Any) -> ParameterError:
    words = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', ' ')}"
    if isinstance(value, type) and getattr(value, "kind", None) == kind:
        rule = f"must be {words}, not its class: write {value.__name__}()"
        return ParameterError(name, rule, value)
    return ParameterError(name, f"must be {words}, its name, or a table", value)


def to_spec(component: Component) -> dict[str, Any]:
    """Describe a component as plain data: `{"name": ..., parameter: value, ...}`."""
    if declared(component, "name") is None:
        raise TypeError(
            f"{component.kind} {type(component).__name__!r} is not registered, so that a spec "
            'would take it for another; give it @register("its-name")'
        )
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


def identity(component: Component) -> dict[str, Any]:
    """Return what tells a component from others: its spec, or its class and how it is shown."""
    try:
        return to_spec(component)
    except TypeError:
        cls = type(component)
        return {"class": f"{cls.__module__}.{cls.__qualname__}", "repr": repr(component)}


def own_code(component: Component | type[Component]) -> dict[str, str]:
    """Return a hash of the source of every module outside this package that a component runs.

    What such a component does is known by its source alone, so that stored results of it hold
    for that source only.
    """
    cls = component if isinstance(component, type) else type(component)
    if cls not in _sources:
        _sources[cls] = own_sources(cls)
    return _sources[cls]


def own_fault(error: BaseException) -> str:
    """Return an error that arose in somebody's own part, and where; nothing if it did elsewhere.

    A `ParameterError` is what a part says of its parameters, and no error in it.
    """
    if isinstance(error, ParameterError):
        return ""
    parts = {cls.__module__ for cls in _own()}
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        module = frame.f_globals.get("__name__", "")
        if module in parts:
            file = Path(frame.f_code.co_filename).name
            place = f"{frame.f_code.co_qualname} ({file}, line {line})"
            return f"{type(error).__name__}: {error} in {place}"
    return ""


def nested(component: Component) -> Iterator[Component]:
    """Yield a component and those inside it."""
    yield component
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        if isinstance(value, Component):
            yield from nested(value)


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
    if "name" not in spec:
        raise ParameterError("name", f"must be given: which {kind} it is", dict(spec))
    cls = _named(kind, spec["name"], "name")
    return _construct(cls, {n: v for n, v in spec.items() if n != "name"})
