"""Sources by the scheme of their address; what has none is a file.

`@register_source("mine")` on an `EventSource` is all it takes for `faircascade import mine://...`.
The modules of this package, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a scheme is first looked up.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from faircascade.errors import ParameterError, suggest
from faircascade.registry.discovery import import_advertised, import_modules
from faircascade.service.imports.sources.base import EventSource, SourceOptions
from faircascade.service.stores.registry import public_address

S = TypeVar("S", bound=type[EventSource])

FILE = "file"
"""The scheme of addresses without a scheme."""
_PACKAGE = "faircascade.service.imports.sources"
_registered: dict[str, type[EventSource]] = {}


def register_source(*schemes: str) -> Callable[[S], S]:
    """Make a class of sources available under the schemes of its addresses."""

    def add(cls: S) -> S:
        for scheme in schemes:
            taken = _registered.get(scheme)
            if taken is not None and taken.__qualname__ != cls.__qualname__:
                raise ValueError(f"source scheme {scheme!r} is already {taken.__qualname__}")
            _registered[scheme] = cls
        return cls

    return add


def source_at(address: str, options: SourceOptions) -> EventSource:
    """Return the source at an address, not opened yet."""
    scheme, found, _ = address.partition("://")
    scheme = scheme if found else FILE
    if scheme.isidentifier() and importlib.util.find_spec(f"{_PACKAGE}.{scheme}") is not None:
        importlib.import_module(f"{_PACKAGE}.{scheme}")  # only this one: others may be slow
    if scheme not in _registered:
        _import_all()
    if scheme not in _registered:
        forms = dict.fromkeys(_registered[name].address_form for name in sorted(_registered))
        rule = f"must be one of {', '.join(forms)}{suggest(scheme, _registered)}"
        raise ParameterError("SOURCE", rule, public_address(address))
    return _registered[scheme].from_address(address, options)


@cache
def _import_all() -> None:
    import_modules(_PACKAGE)
    import_advertised()
