"""Stores by the scheme of their address: `sqlite:PATH`, `redis://HOST:PORT/NUMBER`, or your own.

`@register_store("mine")` on a `Store` is all it takes for `--store mine:...`. The modules of this
package, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a scheme is first looked up.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit

from faircascade.errors import ParameterError
from faircascade.registry import ENTRY_POINTS
from faircascade.service.stores.base import Store

S = TypeVar("S", bound=type[Store])

_PACKAGE = "faircascade.service.stores"
_registered: dict[str, type[Store]] = {}


def register_store(*schemes: str) -> Callable[[S], S]:
    """Make a store class available under the schemes of its addresses."""

    def add(cls: S) -> S:
        for scheme in schemes:
            taken = _registered.get(scheme)
            if taken is not None and taken.__qualname__ != cls.__qualname__:
                raise ValueError(f"store scheme {scheme!r} is already {taken.__qualname__}")
            _registered[scheme] = cls
        return cls

    return add


def store_at(address: str, *, ttl: float) -> Store:
    """Return the store at an address, not opened yet; impressions are kept for `ttl` seconds."""
    scheme, colon, _ = address.partition(":")
    if scheme.isidentifier() and importlib.util.find_spec(f"{_PACKAGE}.{scheme}") is not None:
        importlib.import_module(f"{_PACKAGE}.{scheme}")  # only this one: others may be slow
    if scheme not in _registered:
        _import_all()
    if not colon or scheme not in _registered:
        raise ParameterError("store", _rule(address), public_address(address))
    return _registered[scheme].from_address(address, ttl=ttl)


def _rule(address: str) -> str:
    _import_all()
    forms = dict.fromkeys(_registered[scheme].address_form for scheme in sorted(_registered))
    hint = f" (did you mean 'sqlite:{address}'?)" if address and ":" not in address else ""
    return f"must be one of {', '.join(forms)}{hint}"


@cache
def _import_all() -> None:
    from importlib.metadata import entry_points  # slow to import, and needed only here

    package = importlib.import_module(_PACKAGE)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{_PACKAGE}.{module.name}")
    for entry in entry_points(group=ENTRY_POINTS):
        entry.load()


def public_address(address: str) -> str:
    """Return an address without user, password and query, to be shown."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
