"""Stores by the scheme of their address, such as `sqlite:PATH`, or one of your own.

`@register_store("mine")` on a `Store` is all it takes for `--store mine:...`. The modules of this
package, and those that other packages advertise under the entry-point group
`faircascade.components`, are imported when a scheme is first looked up.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit

from faircascade.errors import ParameterError, suggest
from faircascade.registry.discovery import import_advertised, import_modules
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
    scheme, colon, _ = address.partition(":")
    file = f" (did you mean 'sqlite:{address}'?)" if address else ""
    return f"must be one of {', '.join(forms)}{suggest(scheme, _registered) if colon else file}"


@cache
def _import_all() -> None:
    import_modules(_PACKAGE)
    import_advertised()


def public_address(address: str) -> str:
    """Return an address without user, password and query, to be shown."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
