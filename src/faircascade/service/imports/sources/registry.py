"""Sources by the scheme of their address; what has none is a file.

`@register_source("mine")` on an `EventSource` is all it takes for `faircascade import mine://...`.
"""

from __future__ import annotations

from faircascade.errors import ParameterError
from faircascade.service.imports.sources.base import EventSource, SourceOptions
from faircascade.service.schemes import Schemes
from faircascade.service.stores.registry import public_address

FILE = "file"
"""The scheme of addresses without a scheme."""
_SCHEMES = Schemes[EventSource]("source", "faircascade.service.imports.sources")

register_source = _SCHEMES.register
"""Makes a class of sources available under the schemes of its addresses."""


def source_at(address: str, options: SourceOptions) -> EventSource:
    """Return the source at an address, not opened yet."""
    scheme, named, _ = address.partition("://")
    scheme = scheme if named else FILE
    found = _SCHEMES.find(scheme)
    if found is None:
        rule = f"must be one of {_SCHEMES.forms()}{_SCHEMES.suggest(scheme)}"
        raise ParameterError("SOURCE", rule, public_address(address))
    return found.from_address(address, options)
