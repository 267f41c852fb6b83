"""Commands as users meet them: help that lists parts by name, errors that name options."""

from __future__ import annotations

import re
from typing import Any

from typer import Abort
from typer.core import TyperCommand, TyperOption

from faircascade.errors import MissingParameterError, ParameterError, UnknownParameterError
from faircascade.registry import components

_PARTS = re.compile(r"\{(\w+)\}")
_KEYWORD = re.compile(r"(?<![\w.'\"])([a-z_]+)=(?:'(\w+)'|([A-Z]+\b)|(?=[ ,;)]|$))")
"""`sep=`, `missing='drop'`, `path=FILE`: how messages about data name options."""


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
        except KeyboardInterrupt as error:
            raise Abort from error  # typer would leave without a word
        except (UnknownParameterError, MissingParameterError):
            raise  # the owner of the parameter says which it has
        except ParameterError as error:
            if error.name not in self._options:
                raise
            raise error.named(self._options[error.name]) from error
        except ValueError as error:
            from faircascade.data.base import DataError

            if isinstance(error, DataError) or isinstance(error.__context__, DataError):
                error.args = (_KEYWORD.sub(self._typed, str(error)),)
            raise

    @property
    def _options(self) -> dict[str, str]:
        """The options as they are typed, by name."""
        given = [p for p in self.params if isinstance(p, TyperOption)]
        typed = {p.opts[0].lstrip("-").replace("-", "_"): p.opts[0] for p in given}
        return {p.name: p.opts[0] for p in given if p.name} | typed

    def _typed(self, keyword: re.Match[str]) -> str:
        """Return an option of the data as it is typed: `--path FILE`, `--set data.sep=...`."""
        name, value = keyword[1], keyword[2] or keyword[3] or ""
        if name not in self._options and "set" in self._options:
            return f"--set data.{name}={value or '...'}"
        known = name in self._options or name == "path"  # `data fetch` is about other commands
        option = self._options.get(name, f"--{name}")
        return f"{option} {value}".rstrip() if known else keyword[0]


def _names(kind: re.Match[str]) -> str:
    return ", ".join(components(kind[1]))
