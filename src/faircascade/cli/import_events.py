"""faircascade import: events from a file or a stream to a service that runs."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faircascade.cli.console import print_json, remark
from faircascade.cli.options import AsJson
from faircascade.installation import install_command
from faircascade.progress import progress

if TYPE_CHECKING:
    from faircascade.service.imports.delivery import Counts
    from faircascade.service.imports.importer import Importer, ImportResult, Watch
    from faircascade.service.imports.service_client import ServiceClient

LINE_SECONDS = 20.0
"""Seconds between lines about an import whose end is not known."""


def import_events(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            envvar="FAIRCASCADE_SOURCE",
            help="File of JSON lines (- for standard input), "
            "redis://HOST:6379/0?stream=NAME&group=NAME or kafka://HOST:9092/TOPIC?group=NAME.",
        ),
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="Address of the service.")
    ] = "http://127.0.0.1:8000",
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="File with the API key.", show_default="$FAIRCASCADE_KEY"),
    ] = None,
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow/--no-follow",
            help="Wait for more at the end.",
            show_default="no for files, yes for streams",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the position in a file.", show_default="SOURCE.imported"
        ),
    ] = None,
    refused: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for events that are refused.",
            show_default="SOURCE.refused: a file, stream or topic",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=1000, help="Events in a request at most.")] = 250,
    requests: Annotated[int, typer.Option(min=1, max=16, help="Requests at a time at most.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Bring events from elsewhere to a running service.

    They are feedback, changes of items and erasures of users. Each is learned once, however often
    this command or the service is killed in between. What the service refuses is written down with
    the reason. Ctrl-C finishes what is under way.
    """
    with _libraries():
        from faircascade.service.imports.importer import Importer
        from faircascade.service.imports.refusals import RefusedFile
        from faircascade.service.imports.service_client import ServiceClient
        from faircascade.service.imports.sources.base import SourceOptions
        from faircascade.service.imports.sources.registry import source_at

    client = ServiceClient(to, key=None if key_file is None else _key(key_file))
    events = source_at(source, SourceOptions(to=client.url, follow=follow, state=state))
    path = refused or events.refused_file
    file = None if path is None else RefusedFile(path)
    place = str(path) if path is not None else events.refused_place
    with _told(), _watching() as watch:
        importer = Importer(
            events, client, refused=file, batch=batch, requests=requests, watch=watch
        )
        result = asyncio.run(_run(importer, client))
    before = getattr(events, "before", 0)
    if as_json:
        print_json({**result.plain(), "imported_before": before, "refused_to": place})
    else:
        _tell(result, before, place)
    if not result.finished and not events.endless:
        raise typer.Exit(130)


async def _run(importer: Importer, client: ServiceClient) -> ImportResult:
    from faircascade.client import ServiceError
    from faircascade.service.imports.delivery import ImportStopped

    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        importer.stop()
        for each in signals:
            loop.remove_signal_handler(each)  # a second one ends it at once
        remark("Finishing what is under way")

    with suppress(NotImplementedError):  # Windows: Ctrl-C ends it at once, which loses nothing
        for each in signals:
            loop.add_signal_handler(each, stop)
    try:
        return await importer.run()
    except (ServiceError, ImportStopped) as error:
        raise ValueError(_with_way(error)) from None
    finally:
        await client.close()


def _with_way(error: Exception) -> str:
    wrong_key = getattr(error, "status", None) == HTTPStatus.UNAUTHORIZED
    return f"{error}; this command also takes --key-file" if wrong_key else str(error)


def _key(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _tell(result: ImportResult, before: int, place: str) -> None:
    counts = result.counts
    done = {
        ("answer", "answers"): counts.feedback,
        ("change of an item", "changes of items"): counts.items_changed,
        ("removal of an item", "removals of items"): counts.items_removed,
        ("erasure of a user", "erasures of users"): counts.users_erased,
    }
    said = (f"{count:,} {what[count != 1]}" for what, count in done.items() if count)
    parts = ", ".join(said) or "nothing"
    rate = counts.events / result.seconds if result.seconds else 0.0
    typer.echo(f"Imported {parts} in {result.seconds:.1f} s ({rate:,.0f} events a second).")
    if before:
        typer.echo(f"{before:,} lines were imported before.")
    if counts.refused:
        were = "event was" if counts.refused == 1 else "events were"
        typer.echo(f"{counts.refused:,} {were} refused; {place} says why.")


@contextmanager
def _watching() -> Iterator[Watch]:
    """Show how far it is: with an estimate if there is an end, else a line now and then."""
    last = time.monotonic()
    with progress("Importing") as report:

        def watch(counts: Counts, share: float | None) -> None:
            nonlocal last
            if share is not None:
                report(f"{counts.events:,} events", share)
            elif (now := time.monotonic()) >= last + LINE_SECONDS:
                last = now
                remark(f"{counts.events:,} events, {counts.refused:,} refused")

        yield watch


@contextmanager
def _told() -> Iterator[None]:
    """Print what the import has to say on the way."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("faircascade.service.imports")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)


@contextmanager
def _libraries() -> Iterator[None]:
    """Name the extra to install if a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("faircascade"):
            raise
        raise ValueError(f"import needs {error.name}: {install_command('serve')}") from None
