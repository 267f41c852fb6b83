"""faircascade data: which data sets there are, what is in them, and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from faircascade.cli.console import print_json, print_table, progress, remark

if TYPE_CHECKING:
    from faircascade.data.base import Progress

data = typer.Typer(name="data", help="List, describe and download data sets.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@data.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the data sets that have a name."""
    from faircascade.data.base import Dataset
    from faircascade.registry import components

    sets = {name: cast(type[Dataset], cls) for name, cls in components("data").items()}
    found = [
        {"name": name, "summary": cls.summary, "licence": cls.licence} for name, cls in sets.items()
    ]
    if as_json:
        print_json(found)
        return
    print_table(["Name", "What it is"], [[row["name"], row["summary"]] for row in found])
    remark("Any CSV, TSV or Parquet file works too: pass its path as --data.")


@data.command()
def info(
    name: Annotated[str, typer.Argument(help="A data set's name, or a file.")],
    path: Annotated[Path | None, typer.Option(help="Archive or folder to read.")] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a data set: size, density, ratings, groups."""
    import numpy as np

    import faircascade as fc

    with showing("Reading") as report:
        ratings = fc.load_dataset(name, path=path, progress=report)
    values, counts = np.unique(ratings.ratings, return_counts=True)
    facts: dict[str, Any] = {
        "name": ratings.name,
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "density": len(ratings) / (ratings.n_users * ratings.n_items),
        "positives": int((ratings.ratings >= 4).sum()),
        "scale": {f"{value:g}": int(n) for value, n in zip(values, counts, strict=True)},
        "groups": {g: len(np.unique(column)) for g, column in ratings.item_groups.items()},
        "notes": list(ratings.notes),
    }
    if as_json:
        print_json(facts)
        return
    facts["density"] = f"{facts['density']:.2%}"
    facts["positives"] = f"{facts['positives']:,} (rating 4 or more)"
    facts["scale"] = ", ".join(f"{value}: {n:,}" for value, n in facts["scale"].items())
    facts["groups"] = ", ".join(f"{g} ({n})" for g, n in facts["groups"].items()) or "none"
    facts["notes"] = "; ".join(facts["notes"]) or "none"
    rows = [[k, f"{v:,}" if isinstance(v, int) else str(v)] for k, v in facts.items()]
    print_table(["What", "Value"], rows)


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A data set's name.")], as_json: AsJson = False
) -> None:
    """Download a data set once into the cache folder."""
    from faircascade.registry import build

    with showing("Downloading") as report:
        where = build("data", name).fetch(progress=report)
    if as_json:
        print_json({"name": name, "path": None if where is None else str(where)})
    else:
        typer.echo(f"{name}: {where or 'nothing to download'}")


@contextmanager
def showing(what: str) -> Iterator[Progress]:
    """Show the progress of reading or downloading data."""
    with progress(what) as report:
        yield lambda label, done, total: report(label, done / total if total else 0.0)
