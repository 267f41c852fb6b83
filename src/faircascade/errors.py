"""Errors that say which parameter is wrong."""

from __future__ import annotations

from typing import Any


class ParameterError(ValueError):
    """A parameter whose value breaks a rule: `ParameterError("alpha", "must be >= 0", -1)`.

    >>> str(ParameterError("alpha", "must be >= 0", -1))
    'alpha must be >= 0, got -1'
    """

    def __init__(self, name: str, rule: str, value: Any) -> None:
        if getattr(value, "shape", None) == ():  # a NumPy number, which is shown as a plain one
            value = value.item()
        super().__init__(f"{name} {rule}, got {value!r}")
        self.name = name
        self.rule = rule
        self.value = value

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, str, Any]]:
        return type(self), (self.name, self.rule, self.value)
