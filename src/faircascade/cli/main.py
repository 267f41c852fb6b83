"""The `faircascade` program: its commands, and how mistakes are told."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from faircascade import __version__
from faircascade.__main__ import STOPPED
from faircascade.cli.audit import audit
from faircascade.cli.bench import bench
from faircascade.cli.command import Command
from faircascade.cli.compare import compare
from faircascade.cli.data import data
from faircascade.cli.demo import demo
from faircascade.cli.diff import diff
from faircascade.cli.doctor import doctor
from faircascade.cli.evaluate import evaluate
from faircascade.cli.fit import fit
from faircascade.cli.import_events import import_events
from faircascade.cli.keys import keys
from faircascade.cli.report import report
from faircascade.cli.reproduce import reproduce
from faircascade.cli.run import run
from faircascade.cli.serve import serve
from faircascade.cli.simulate import simulate
from faircascade.cli.store import store
from faircascade.cli.theory import theory
from faircascade.cli.tune import tune
from faircascade.errors import ParameterError
from faircascade.registry.own_parts import own_fault

app = typer.Typer(
    name="faircascade",
    help="Online learning to rank that shares exposure fairly.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(demo)
app.command(cls=Command)(simulate)
app.command(cls=Command)(compare)
app.command(cls=Command)(run)
app.command(cls=Command)(tune)
app.command(cls=Command)(report)
app.command(cls=Command)(diff)
app.command(cls=Command)(reproduce)
app.command(cls=Command)(audit)
app.command(cls=Command)(evaluate)
app.command(cls=Command)(fit)
app.command(cls=Command)(theory)
app.add_typer(data)
app.command(cls=Command)(serve)
app.command("import", cls=Command)(import_events)
app.add_typer(keys)
app.add_typer(store)
app.command(cls=Command)(bench)
app.command(cls=Command)(doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"faircascade {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Online learning to rank that shares exposure fairly."""


def main() -> None:
    """Run a command; a user's mistake becomes one line and exit code 2."""
    try:
        code = app(prog_name="faircascade", standalone_mode=False)
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text
            print(error)
            sys.exit(0)
        _fail(_usage(error))
    except (KeyboardInterrupt, typer.Abort):
        print(STOPPED, file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError as error:
        _fail(f"not enough memory ({error}); try fewer rounds, users or items")
    except Exception as error:
        fault = own_fault(error)
        foreseen = isinstance(error, ValueError | ArithmeticError | OSError)
        if os.environ.get("FAIRCASCADE_DEBUG") or not (fault or foreseen):
            raise
        if fault:
            _fail(f"{fault}; FAIRCASCADE_DEBUG=1 shows how it came about", code=1)
        _fail(_describe(error) if isinstance(error, OSError) else str(error))
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int = 2) -> None:
    print(f"Error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


def _usage(error: typer.TyperException) -> str:
    """Say what was wrong with the words of the command, and where to look."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "faircascade"
    text = _wrong_value(error) or error.format_message()
    end = "" if text.endswith((".", "?")) else "."
    return f"{text}{end} Try '{command} --help'."


def _wrong_value(error: typer.TyperException) -> str:
    """Say which option has a value of the wrong type; nothing if that is not the mistake."""
    from pydantic import ValidationError  # typer has imported it by then, and not before

    cause = error.__cause__
    if not isinstance(error, typer.BadParameter) or not isinstance(cause, ValidationError):
        return ""
    first = cause.errors()[0]
    rules = {"int": "must be a whole number", "float": "must be a number"}
    rule = rules.get(first["type"].partition("_")[0])
    if rule is None or error.param is None:
        return ""
    return str(ParameterError(error.param.opts[0], rule, first["input"]))


def _describe(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    return f"{error.filename}: {error.strerror or error}"
