"""Commands as users meet them: help that lists parts by name, errors that name options."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperOption

from faircascade.errors import MissingParameterError, ParameterError, UnknownParameterError
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
        except (UnknownParameterError, MissingParameterError):
            raise  # the owner of the parameter says which it has
        except ParameterError as error:
            given = [p.opts[0] for p in self.params if isinstance(p, TyperOption)]
            options = {option.lstrip("-").replace("-", "_"): option for option in given}
            if error.name not in options:
                raise
            raise error.named(options[error.name]) from error


def _names(kind: re.Match[str]) -> str:
    return ", ".join(components(kind[1]))
