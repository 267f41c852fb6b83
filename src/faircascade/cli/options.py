"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SpecFile = Annotated[Path, typer.Argument(help="A spec file (.toml).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="path.to.key=value in place of what the file says."),
]
ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where cells run: local, or ray (a cluster).")
]
Address = Annotated[
    str | None, typer.Option(help="Of the Ray cluster; default: one on this machine.")
]
Workers = Annotated[
    int | None, typer.Option(help="Cells at once; default: by how many and long they are.")
]
Threads = Annotated[
    int | None, typer.Option(help="Threads of all cells together; default: all cores.")
]
MLflow = Annotated[
    str | None,
    typer.Option("--mlflow", help="Also log every finished cell to this MLflow address."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
