"""faircascade keys: who may use a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.options import AsJson

keys = typer.Typer(
    name="keys", help="Make, list and remove keys to a service.", no_args_is_help=True
)

KeysFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file of keys.")]
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.")]


@keys.command()
def new(
    file: KeysFile,
    name: KeyName,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For looking only: exposure, items, metrics.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, once: the file keeps only its hash."""
    from faircascade.service.keys import new_key

    role = "read" if read_only else "write"
    key = new_key(file, name, role)
    if as_json:
        print_json({"name": name, "role": role, "key": key})
    else:
        typer.echo(key)
    may = "may only read" if read_only else "may read and write"
    remark(f"{name!r} {may}. Keep the key: it cannot be shown again. Services that run take it up.")


@keys.command("list")
def list_(file: KeysFile, as_json: AsJson = False) -> None:
    """List the names of keys and what they may do."""
    from faircascade.service.keys import list_keys

    found = [{"name": k.name, "role": k.role, "created": k.created} for k in list_keys(file)]
    if as_json:
        print_json(found)
    else:
        print_table(["Name", "May", "Made"], [list(row.values()) for row in found])


@keys.command()
def remove(file: KeysFile, name: KeyName, as_json: AsJson = False) -> None:
    """Remove a key; services that run stop taking it within seconds."""
    from faircascade.service.keys import remove_key

    remove_key(file, name)
    if as_json:
        print_json({"removed": name})
    else:
        typer.echo(f"Removed {name!r}.")
