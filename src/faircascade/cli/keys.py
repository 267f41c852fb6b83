"""faircascade keys: API keys of a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.command import Command
from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.options import AsJson, AuditLogPath

keys = typer.Typer(
    name="keys", help="Create, list and remove API keys of a service.", no_args_is_help=True
)

KeysFile = Annotated[Path, typer.Argument(metavar="FILE", help="File of keys.")]
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the owner.")]


@keys.command(cls=Command)
def new(
    file: KeysFile,
    name: KeyName,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Allow reading only: exposure, items, metrics.")
    ] = False,
    admin: Annotated[bool, typer.Option("--admin", help="Allow changing policies, too.")] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Requests, answers and items a second that it may send.",
            show_default="--rate-limit of the service",
        ),
    ] = None,
    audit_log: AuditLogPath = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it once; the file keeps only its hash."""
    from faircascade.service.audit_log import command_noted
    from faircascade.service.keys import new_key

    if read_only and admin:
        raise ValueError("--read-only and --admin cannot be combined")
    role = "read" if read_only else "admin" if admin else "write"
    with command_noted(audit_log, "keys new", {"key": name, "role": role, "rate": rate}):
        key = new_key(file, name, role, rate)
    if as_json:
        print_json({"name": name, "role": role, "rate": rate, "key": key})
    else:
        typer.echo(key)
    may = {"read": "may only read", "write": "may read and write", "admin": "may do everything"}
    remark(
        f"{name!r} {may[role]}. Keep the key: it cannot be shown again. "
        "Running services accept it soon."
    )


@keys.command("list", cls=Command)
def list_(file: KeysFile, as_json: AsJson = False) -> None:
    """List the names of keys and their roles."""
    from faircascade.service.keys import list_keys

    found = [
        {"name": key.name, "role": key.role, "rate": key.rate, "created": key.created}
        for key in list_keys(file)
    ]
    if as_json:
        print_json(found)
    else:
        print_table(
            ["Name", "Role", "Rate", "Created"], [list(map(_cell, row.values())) for row in found]
        )


def _cell(value: str | float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else value


@keys.command(cls=Command)
def remove(
    file: KeysFile, name: KeyName, audit_log: AuditLogPath = None, as_json: AsJson = False
) -> None:
    """Remove a key; running services stop accepting it within seconds."""
    from faircascade.service.audit_log import command_noted
    from faircascade.service.keys import remove_key

    with command_noted(audit_log, "keys remove", {"key": name}):
        remove_key(file, name)
    if as_json:
        print_json({"removed": name})
    else:
        typer.echo(f"Removed {name!r}.")
