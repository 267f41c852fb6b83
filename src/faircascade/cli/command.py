"""Commands as users meet them: help that lists parts by name, errors that name options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperOption

from faircascade.registry import components

_PARTS = re.compile(r"\{(\w+)\}")


class Command(TyperCommand):
    """A command. In the help of its options `{kind}` stands for the names of such parts."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for option in self.params:
            if isinstance(option, TyperOption) and option.help:
                option.help = _PARTS.sub(_names, option.help)
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ValueError as error:
            given = [p.opts[0] for p in self.params if isinstance(p, TyperOption)]
            options = {option.lstrip("-").replace("-", "_"): option for option in given}
            message = in_options(str(error), options)
            if message == str(error):
                raise
            raise ValueError(message) from error


def _names(kind: re.Match[str]) -> str:
    return ", ".join(components(kind[1]))


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Return a message about parameters as one about the options of a command.

    >>> said = "engine must be 'loop' for this policy; use engine='loop'"
    >>> in_options(said, {"engine": "--engine"})
    "--engine must be 'loop' for this policy; use --engine loop"
    """
    known = "|".join(map(re.escape, options))
    message = re.sub(rf"^({known})(?= must\b)", lambda m: options[m[1]], message)
    return re.sub(rf"\b({known})='([^']*)'", lambda m: f"{options[m[1]]} {m[2]}", message)
