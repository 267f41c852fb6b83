"""Stores by the scheme of their address, such as `sqlite:PATH`, or one of your own.

`@register_store("mine")` on a `Store` is all it takes for `--store mine:...`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from faircascade.errors import ParameterError
from faircascade.service.schemes import Schemes
from faircascade.service.stores.base import Store

_SCHEMES = Schemes[Store]("store", "faircascade.service.stores")

register_store = _SCHEMES.register
"""Makes a store class available under the schemes of its addresses."""


def store_at(address: str, *, ttl: float) -> Store:
    """Return the store at an address, not opened yet; impressions are kept for `ttl` seconds."""
    scheme, colon, _ = address.partition(":")
    found = _SCHEMES.find(scheme)
    if not colon or found is None:
        file = f" (did you mean 'sqlite:{address}'?)" if address else ""
        meant = _SCHEMES.suggest(scheme) if colon else file
        rule = f"must be one of {_SCHEMES.forms()}{meant}"
        raise ParameterError("store", rule, public_address(address))
    return found.from_address(address, ttl=ttl)


def public_address(address: str) -> str:
    """Return an address without user, password and query, to be shown."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
