"""faircascade data: which data sets there are, what is in them, and how to get them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from faircascade.cli.command import Command
from faircascade.cli.console import print_json, print_table, remark
from faircascade.cli.policy_options import description_settings, typed_settings
from faircascade.progress import progress
from faircascade.registry import build, components, find, parameters_of

if TYPE_CHECKING:
    from faircascade.data.base import Progress, Ratings
    from faircascade.data.prepare import Threshold

data = typer.Typer(name="data", help="List, describe and download data sets.", no_args_is_help=True)

_SHARES = ("positive_share", "density", "top_20_percent_share")

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@data.command("list", cls=Command)
def list_(as_json: AsJson = False) -> None:
    """List data sets by name."""
    from faircascade.data.base import Dataset

    sets = {name: cast(type[Dataset], cls) for name, cls in components("data").items()}
    found = [
        {"name": name, "summary": cls.summary, "licence": cls.licence} for name, cls in sets.items()
    ]
    if as_json:
        print_json(found)
        return
    print_table(["Name", "What it is"], [[row["name"], row["summary"]] for row in found])
    remark(
        "Any CSV, TSV or Parquet file works too: pass its path with --data. "
        "See how it is read with 'faircascade data describe FILE'."
    )


@data.command(cls=Command)
def describe(
    name: Annotated[str, typer.Argument(metavar="DATA", help="Data set or file.")],
    path: Annotated[Path | None, typer.Option(help="Archive or folder to read.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set an option of the data, or threshold."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read data and say what is in it: feedback, scale, likes, sizes, popularity, groups."""
    name = dataset_or_file(name)
    given = description_settings(settings or [], name)
    threshold = given["environment"].get("threshold")
    facts = {"data": name, **_contents(name, path, given["data"], threshold)}
    if as_json:
        print_json(facts)
        return
    for note in facts.pop("notes"):
        remark(f"Note: {note}")
    print_table(["What", "Value"], list(_rows(facts)))


def _rows(facts: dict[str, Any]) -> Iterator[list[str]]:
    """Yield what is known of data as people read it; what is empty is left out."""
    for key, value in facts.items():
        if value not in (None, {}):
            shown = f"{value:.2%}" if key in _SHARES else _text(value)
            yield [key.replace("_", " "), shown]


@data.command(cls=Command)
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Data set or file.")],
    path: Annotated[Path | None, typer.Option(help="Archive or folder to read.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set an option of the data set."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a data set: licence, options and, once downloaded, contents."""
    name = dataset_or_file(name)
    from faircascade.data.base import Dataset
    from faircascade.data.tabular import Tabular

    cls = cast(type[Dataset], components("data").get(name, Tabular))
    options = typed_settings(settings or [], cls)
    facts: dict[str, Any] = {
        "name": name,
        "summary": cls.summary,
        "licence": cls.licence,
        "options": {p.name: p.default for p in parameters_of(cls)},
    }
    if path is not None or name not in components("data") or build("data", name, options).here():
        facts |= _contents(name, path, options)
    elif cls.needs_path:
        facts["contents"] = "pass the folder or file with --path to see what is in it"
    else:
        facts["contents"] = f"not downloaded yet: faircascade data fetch {name}"
    if as_json:
        print_json(facts)
    else:
        print_table(["What", "Value"], [[key, _text(value)] for key, value in facts.items()])


def _contents(
    name: str, path: Path | None, options: dict[str, Any], threshold: Threshold = None
) -> dict[str, Any]:
    """Read the ratings and count."""
    from faircascade.data.description import describe as facts_of

    return facts_of(read_ratings(name, path, options), threshold)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@data.command(cls=Command)
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Data set.")], as_json: AsJson = False
) -> None:
    """Download a data set into the cache folder, once."""
    name = dataset_or_file(name)
    chosen = build("data", name)
    with showing() as report:
        where = chosen.fetch(progress=report)
    hint = "; pass its folder or file with --path" if chosen.needs_path else ""
    if as_json:
        print_json({"name": name, "path": None if where is None else str(where)})
    else:
        typer.echo(f"{name}: {where or f'nothing to download{hint}'}")


def dataset_or_file(name: str) -> str:
    """Return the registered name of a data set that is written with '-' or '_'; else as it is."""
    found = find("data", name)
    return name if found is None else found.name


def read_ratings(
    data: str, path: Path | None, options: Mapping[str, Any] = MappingProxyType({})
) -> Ratings:
    """Load ratings, with progress."""
    import faircascade as fc

    with showing() as report:
        return fc.load_dataset(data, path=path, progress=report, **options)


def tell_of_ratings(
    ratings: Ratings, users: int | None, thresholds: Iterable[Threshold] = (None,)
) -> None:
    """Say what is to be known of a data set, and if it has fewer users than were asked for."""
    from faircascade.data.prepare import resolve_threshold

    decided = (note for asked in thresholds for note in resolve_threshold(ratings, asked)[1])
    for note in dict.fromkeys((*ratings.notes, *decided)):
        remark(note)
    if users is not None and users > ratings.n_users:
        remark(f"Note: {ratings.name} has {ratings.n_users:,} users, not {users:,}; all are used.")


@contextmanager
def showing() -> Iterator[Progress]:
    """Show the progress of reading or downloading data."""
    with progress("") as report:
        yield lambda label, done, total: report(label.capitalize(), done / total if total else 0.0)
