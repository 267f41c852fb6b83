"""faircascade store: what a store of the service holds, and copies of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from faircascade.cli.command import Command
from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.options import AsJson, AuditLogPath
from faircascade.installation import install_command
from faircascade.progress import progress

store = typer.Typer(
    name="store", help="Look at stores of the service, and copy them.", no_args_is_help=True
)

_DAY = 24 * 3600.0
Days = Annotated[float, typer.Option("--ttl", help="Days for which slates are kept, as in serve.")]


@store.command(cls=Command)
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Address of a store.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Address of an empty place.")],
    ttl: Days = 7.0,
    audit_log: AuditLogPath = None,
    as_json: AsJson = False,
) -> None:
    """Copy everything that a store holds into an empty one, and check the copy.

    Stop all services that use the store first. Feedback on slates that were handed out before is
    learned afterwards as well. A copy that was interrupted cannot be served; run the command again.
    """
    with _errors():
        from faircascade.service.audit_log import command_noted
        from faircascade.service.stores.copy import copy_store
        from faircascade.service.stores.registry import public_address

        places = {"from": public_address(source), "to": public_address(target)}
        noted = command_noted(audit_log, "store copy", places)
        with noted, progress("Copying the store") as report:
            counts = asyncio.run(copy_store(source, target, ttl=ttl * _DAY, watch=report))
    found = asdict(counts)
    if as_json:
        print_json(found)
        return
    numbers = ", ".join(f"{count:,} {kind}" for kind, count in found.items())
    typer.echo(f"Copied {numbers}; counts and what is known of users are the same.")


@store.command(cls=Command)
def rebuild(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of an event log.")],
    target: Annotated[str, typer.Option("--store", help="Address of an empty place.")],
    audit_log: AuditLogPath = None,
    as_json: AsJson = False,
) -> None:
    """Make a store from the event log that a service wrote.

    It holds what the one held that was logged, up to the last change in the log, with the same ids.
    A rebuild that was interrupted cannot be served; run the command again.
    """
    with _errors():
        from faircascade.service.audit_log import command_noted
        from faircascade.service.event_log.rebuild import rebuild_store
        from faircascade.service.stores.registry import public_address

        places = {"from": str(folder), "to": public_address(target)}
        noted = command_noted(audit_log, "store rebuild", places)
        with noted, progress("Reading the journal") as report:
            counts = asyncio.run(rebuild_store(folder, target, watch=report))
    found = asdict(counts)
    if as_json:
        print_json(found)
        return
    numbers = ", ".join(f"{count:,} {kind}" for kind, count in found.items() if kind != "events")
    typer.echo(f"Rebuilt {numbers}.")


@store.command(cls=Command)
def unlog(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Address of a store.")],
    audit_log: AuditLogPath = None,
) -> None:
    """End the event log of a store; what is not in its files yet is dropped.

    The next start with --event-log begins another one. Its files stay, and can be evaluated.
    """
    with _errors():
        from faircascade.service.audit_log import command_noted
        from faircascade.service.event_log.end import end_log
        from faircascade.service.stores.registry import public_address

        places = {"store": public_address(address)}
        with command_noted(audit_log, "store unlog", places):
            dropped = asyncio.run(end_log(address))
    typer.echo(f"The event log has ended; {dropped:,} changes were not in its files.")


@store.command(cls=Command)
def info(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Address of a store.")],
    as_json: AsJson = False,
) -> None:
    """Say what a store holds."""
    with _errors():
        from faircascade.service.stores.copy import summary
        from faircascade.service.stores.registry import public_address

        found = asyncio.run(summary(address, ttl=_DAY))
    plain = {
        "store": public_address(address),
        **asdict(found.counts),
        "features": found.shape["dim"] - found.shape.get("topics", 0),
        "topics": found.shape.get("topics", 0),
        "numbers per user": found.shape["sums"],
    }
    if as_json:
        print_json({**plain, "unfinished": found.unfinished, "durability": found.durability})
        return
    print_table(
        ["What", "Found"],
        [[key, f"{n:,}" if isinstance(n, int) else str(n)] for key, n in plain.items()],
    )
    if found.unfinished:
        typer.echo("Problem: a copy into it was interrupted; run 'faircascade store copy' again")
    if found.durability:
        typer.echo(f"Problem: {found.durability}")


@contextmanager
def _errors() -> Iterator[None]:
    """Name the extra to install if a library is missing; a store that is down ends with code 1."""
    try:
        from faircascade.service.stores.base import StoreDown
    except ModuleNotFoundError as error:
        raise ValueError(f"stores need {error.name}: {install_command('serve')}") from None
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("faircascade"):
            raise
        raise ValueError(f"stores need {error.name}: {install_command('serve')}") from None
    except StoreDown as error:
        remark(f"Error: {error}")
        raise typer.Exit(1) from None
