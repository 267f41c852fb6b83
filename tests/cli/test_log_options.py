"""Every setting of a log can be typed, and reaches the log."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from faircascade.cli.command import Command
from faircascade.cli.log_options import LogFile, LogSettings, open_log, with_log_options
from faircascade.data.log import Log

app = typer.Typer(rich_markup_mode=None)


@app.command(cls=Command)
@with_log_options
def look(log: LogFile, twice: bool = False, *, log_settings: LogSettings) -> None:
    """Look at a log."""
    found = open_log(log, log_settings)
    columns = dict(found.columns.used())
    typer.echo(json.dumps({"name": found.name, "twice": twice, **log_settings, "found": columns}))


def keywords(function) -> dict[str, object]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_there_is_an_option_for_every_parameter_of_a_log() -> None:
    of_log = keywords(Log.__init__)
    options = {name: given for name, given in keywords(look).items() if name in of_log}
    assert options == of_log
    shown = CliRunner().invoke(app, ["--help"], terminal_width=200).output
    for name in of_log:
        assert f"--{name.replace('_', '-')} " in shown
    assert "Look at a log." in shown


def test_what_is_typed_reaches_the_log(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("who;what;hit\nu;a|b;1\n")
    typed = ["--user", "who", "--item", "what", "--clicked-positions", "hit", "--sep", ";"]
    result = CliRunner().invoke(app, [str(file), *typed, "--invalid", "drop", "--name", "x"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["name"] == "x"
    assert found["twice"] is False
    assert found["invalid"] == "drop"
    assert found["found"] == {"user": "who", "item": "what", "clicked_positions": "hit"}


def test_a_mistake_names_the_option_as_it_is_typed(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("user,items,hits\nu,a|b,1\n")
    result = CliRunner().invoke(app, [str(file), "--clicked-positions", "hit"])
    assert "there is no column 'hit' (--clicked-positions)" in str(result.exception)
    result = CliRunner().invoke(app, [str(file), "--first-position", "3"])
    assert str(result.exception) == "--first-position must be 0 or 1, got 3"
