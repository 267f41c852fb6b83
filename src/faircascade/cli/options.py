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
    str, typer.Option("--executor", help="Where cells run: local, gpu, or ray (a cluster).")
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

PolicyName = Annotated[
    str | None,
    typer.Option("--policy", help="linucb, ealinucb, lints, random, ...", show_default="ealinucb"),
]
Weight = Annotated[str | None, typer.Option(help="log, rbp, linear; or --set weight=[1,2,...].")]
Beta = Annotated[float | None, typer.Option(help="Parameter of rbp and linear.")]
Gamma = Annotated[float | None, typer.Option(help="Penalty of ignored items.")]
ReadingName = Annotated[str | None, typer.Option(help="paper, intended or reference.")]
Alpha = Annotated[float | None, typer.Option(help="Width of the UCB bonus.")]
Epsilon = Annotated[float | None, typer.Option(help="Share of random positions.")]
Scale = Annotated[float | None, typer.Option(help="Spread of Thompson sampling.")]
Sigma = Annotated[float | None, typer.Option(help="Learning rate.")]
Ridge = Annotated[float | None, typer.Option(help="Regularisation.")]
ClickModelName = Annotated[
    str | None, typer.Option("--click-model", help="How users click.", show_default="cascade")
]
OtherParameters = Annotated[
    list[str] | None, typer.Option("--set", help="name=value for any other parameter.")
]
