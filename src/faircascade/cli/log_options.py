"""Options that say how a click log is read, shared by all commands that read one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faircascade.data.log import Log

LogFile = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="Click log: Parquet, CSV, TSV or JSON lines, a folder of these, or a zip file.",
    ),
]
Column = str | None
LogSettings = dict[str, Any]
"""Keyword arguments of `Log`."""
PARAMETER = "log_settings"
"""The parameter of a command that gets them."""

Impression = Annotated[
    Column, typer.Option(metavar="COLUMN", help="Column that the rows of one impression share.")
]
User = Annotated[Column, typer.Option(metavar="COLUMN", help="Column of users.")]
Item = Annotated[
    Column, typer.Option(metavar="COLUMN", help="Column of items: one of them, or a whole slate.")
]
Position = Annotated[Column, typer.Option(metavar="COLUMN", help="Column of positions.")]
Click = Annotated[Column, typer.Option(metavar="COLUMN", help="Column of clicks, 1 or 0.")]
ClickedPositions = Annotated[
    Column, typer.Option(metavar="COLUMN", help="Column of the positions that were clicked.")
]
ClickedItems = Annotated[
    Column, typer.Option(metavar="COLUMN", help="Column of the items that were clicked.")
]
Shown = Annotated[
    Column, typer.Option(metavar="COLUMN", help="Column of how many positions were on the screen.")
]
Time = Annotated[Column, typer.Option(metavar="COLUMN", help="Column of times.")]
SlatePropensity = Annotated[
    Column, typer.Option(metavar="COLUMN", help="Column of probabilities of whole slates.")
]
CascadePropensity = Annotated[
    Column,
    typer.Option(metavar="COLUMN", help="Column of probabilities of the items down to a position."),
]
ItemPositionPropensity = Annotated[
    Column,
    typer.Option(metavar="COLUMN", help="Column of probabilities of an item at its position."),
]
Rows = Annotated[
    str | None, typer.Option(help="What a row is: positions or impressions; default: found out.")
]
FirstPosition = Annotated[
    int | None, typer.Option(help="Number of the first position, 0 or 1; default: found out.")
]
Invalid = Annotated[
    str, typer.Option(help="What to do with impressions that break a rule: refuse or drop.")
]
Member = Annotated[str | None, typer.Option(metavar="FILE", help="The file of a zip file.")]
Separator = Annotated[str | None, typer.Option(help="Separator of a text file.")]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file.")]
LogName = Annotated[str | None, typer.Option(help="What to call the log; default: its file name.")]


def _settings(
    *,
    impression: Impression = None,
    user: User = None,
    item: Item = None,
    position: Position = None,
    click: Click = None,
    clicked_positions: ClickedPositions = None,
    clicked_items: ClickedItems = None,
    shown: Shown = None,
    time: Time = None,
    slate_propensity: SlatePropensity = None,
    cascade_propensity: CascadePropensity = None,
    item_position_propensity: ItemPositionPropensity = None,
    rows: Rows = None,
    first_position: FirstPosition = None,
    invalid: Invalid = "refuse",
    member: Member = None,
    sep: Separator = None,
    encoding: Encoding = "utf-8",
    name: LogName = None,
) -> LogSettings:
    return {key: value for key, value in locals().items() if value is not None}


def with_log_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a log; its parameter `log_settings` gets what they say."""
    own = [p for p in _parameters(command) if p.name != PARAMETER]
    options = _parameters(_settings)

    def wrapped(**given: Any) -> None:
        told = {option.name: given.pop(option.name) for option in options}
        command(**given, **{PARAMETER: _settings(**told)})

    every = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *options)]
    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    wrapped.__module__ = command.__module__
    vars(wrapped)["__signature__"] = inspect.Signature(every)
    wrapped.__annotations__ = {p.name: p.annotation for p in every}
    return wrapped


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def open_log(source: Path, settings: LogSettings) -> Log:
    """Open a log as the options say, and tell how it is read where that is not obvious."""
    from faircascade.cli.console import remark
    from faircascade.data.log import Log

    log = Log(source, **settings)
    for note in log.notes:
        remark(f"Note: {note}")
    return log
