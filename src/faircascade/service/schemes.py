"""Classes by the scheme of an address, such as `sqlite:PATH` or `kafka://HOST/TOPIC`.

The modules of a package, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a scheme is first looked up.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

from faircascade.errors import suggest
from faircascade.registry.discovery import import_advertised, import_modules


class Addressed(Protocol):
    """What can be named by an address."""

    address_form: ClassVar[str]
    """What addresses look like, for messages."""


A = TypeVar("A", bound=Addressed)
C = TypeVar("C", bound=type)


class Schemes(Generic[A]):
    """Classes of one kind."""

    def __init__(self, kind: str, package: str) -> None:
        """Name the kind, for messages, and the package whose modules are imported."""
        self._kind = kind
        self._package = package
        self._classes: dict[str, type[A]] = {}
        self._complete = False

    def register(self, *schemes: str) -> Callable[[C], C]:
        """Make a class available under the schemes of its addresses."""

        def add(cls: C) -> C:
            for scheme in schemes:
                taken = self._classes.get(scheme)
                if taken is not None and taken.__qualname__ != cls.__qualname__:
                    what = f"{self._kind} scheme {scheme!r}"
                    raise ValueError(f"{what} is already {taken.__qualname__}")
                self._classes[scheme] = cls
            return cls

        return add

    def find(self, scheme: str) -> type[A] | None:
        """Return the class of a scheme."""
        module = f"{self._package}.{scheme}"
        if scheme.isidentifier() and importlib.util.find_spec(module) is not None:
            importlib.import_module(module)  # only this one: others may be slow
        if scheme not in self._classes:
            self._all()
        return self._classes.get(scheme)

    def forms(self) -> str:
        """Return what addresses may look like, for messages."""
        known = self._all()
        return ", ".join(dict.fromkeys(known[scheme].address_form for scheme in sorted(known)))

    def suggest(self, scheme: str) -> str:
        """Return what may be meant by a scheme that there is not, for messages."""
        return suggest(scheme, self._all())

    def _all(self) -> Mapping[str, type[A]]:
        if not self._complete:
            import_modules(self._package)
            import_advertised()
            self._complete = True
        return self._classes
