"""faircascade keys: API keys of a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.command import Command
from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.options import AsJson

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
    as_json: AsJson = False,
) -> None:
    """Create a key and print it once; the file keeps only its hash."""
    from faircascade.service.keys import new_key

    role = "read" if read_only else "write"
    key = new_key(file, name, role)
    if as_json:
        print_json({"name": name, "role": role, "key": key})
    else:
        typer.echo(key)
    may = "may only read" if read_only else "may read and write"
    remark(
        f"{name!r} {may}. Keep the key: it cannot be shown again. Running services accept it soon."
    )


@keys.command("list", cls=Command)
def list_(file: KeysFile, as_json: AsJson = False) -> None:
    """List the names of keys and their roles."""
    from faircascade.service.keys import list_keys

    found = [{"name": k.name, "role": k.role, "created": k.created} for k in list_keys(file)]
    if as_json:
        print_json(found)
    else:
        print_table(["Name", "Role", "Created"], [list(row.values()) for row in found])


@keys.command(cls=Command)
def remove(file: KeysFile, name: KeyName, as_json: AsJson = False) -> None:
    """Remove a key; running services stop accepting it within seconds."""
    from faircascade.service.keys import remove_key

    remove_key(file, name)
    if as_json:
        print_json({"removed": name})
    else:
        typer.echo(f"Removed {name!r}.")
