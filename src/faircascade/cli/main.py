"""The `faircascade` program: its commands, and how mistakes are told."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from faircascade import __version__
from faircascade.cli.bench import bench
from faircascade.cli.data import data
from faircascade.cli.demo import demo
from faircascade.cli.diff import diff
from faircascade.cli.doctor import doctor
from faircascade.cli.keys import keys
from faircascade.cli.report import report
from faircascade.cli.reproduce import reproduce
from faircascade.cli.run import run
from faircascade.cli.serve import serve
from faircascade.cli.simulate import simulate
from faircascade.cli.theory import theory
from faircascade.cli.tune import tune

app = typer.Typer(
    name="faircascade",
    help="Online learning to rank that shares exposure fairly.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(simulate)
app.command()(run)
app.command()(tune)
app.command()(report)
app.command()(diff)
app.command()(reproduce)
app.command()(theory)
app.add_typer(data)
app.command()(serve)
app.add_typer(keys)
app.command()(bench)
app.command()(doctor)


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
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text
            print(error)
            sys.exit(0)
        _fail(_usage(error))
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, ArithmeticError, OSError) as error:
        if os.environ.get("FAIRCASCADE_DEBUG"):
            raise
        _fail(_describe(error) if isinstance(error, OSError) else str(error))
    except MemoryError as error:
        _fail(f"not enough memory ({error}); try fewer rounds, users or items")
    except (KeyboardInterrupt, typer.Abort):
        print("Stopped before anything was finished.", file=sys.stderr)
        sys.exit(130)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    print(f"Error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)


def _usage(error: typer.TyperException) -> str:
    """Say what was wrong with the words of the command, and where to look."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "faircascade"
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{text.rstrip('.')}. Try '{command} --help'."


def _describe(error: OSError) -> str:
    if error.filename is None:
        return str(error)
    return f"{error.filename}: {error.strerror or error}"
