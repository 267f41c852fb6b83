"""What every part is, whatever its room."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from faircascade.strengths import StrengthRange


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
    strength_range: ClassVar[StrengthRange | None] = None
    """The parameter by which it trades clicks for fairness, if it has one."""

    def runs_in(self, engine: str) -> bool:
        """Say whether a compiled engine has a kernel for it with these parameters."""
        return engine in engines_of(self)

    def kernel(self) -> Mapping[str, Any]:
        """Return the numbers that these engines run it by, named as their kernels name them."""
        return {}

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        """Return those that depend on the length of slates."""
        return {}


def declared(thing: object, flag: str) -> Any:
    """Return what a thing's own class says of itself, None if only a parent class says it.

    A subclass may do something else, so that what its parent promises does not bind it.
    """
    return vars(type(thing)).get(flag)


def engines_of(thing: object) -> frozenset[str]:
    """Return the compiled engines that a thing's own class says have a kernel for it."""
    return frozenset(declared(thing, "engines") or ())
