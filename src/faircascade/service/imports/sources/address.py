"""Addresses of streams: what stands behind the question mark."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, urlsplit

from faircascade.errors import ParameterError
from faircascade.service.stores.registry import public_address


class StreamAddress:
    """An address in parts; what nobody asked for is left in `rest`."""

    def __init__(self, address: str, form: str) -> None:
        self._form = form
        self._public = public_address(address)
        try:
            self.parts: SplitResult = urlsplit(address)
            found = parse_qsl(self.parts.query, keep_blank_values=True)
        except ValueError:
            raise self.wrong(f"must be {form}") from None
        self.rest = dict(found)

    def wrong(self, rule: str) -> ParameterError:
        """Return an error about the address, which is shown without passwords."""
        return ParameterError("SOURCE", rule, self._public)

    def take(self, name: str, default: str | None = None) -> str:
        """Return a parameter, or its default; without one it has to be given."""
        value = self.rest.pop(name, default)
        if not value:
            raise self.wrong(f"must be {self._form}: it needs {name}=...")
        return value

    def seconds(self, name: str, default: float) -> float:
        """Return a parameter that is a number of seconds."""
        text = self.rest.pop(name, str(default))
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise ParameterError(name, "must be seconds > 0", text)
        return value
