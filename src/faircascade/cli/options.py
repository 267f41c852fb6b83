"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SpecFile = Annotated[Path, typer.Argument(help="A spec file (.toml).")]
SpecSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="path.to.key=value: replace a value of the file."),
]
ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where cells run: local, gpu, or ray (a cluster).")
]
Address = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster; default: start one here.")
]
Workers = Annotated[
    int | None,
    typer.Option(help="Cells to run at once; default: chosen by their number and length."),
]
Threads = Annotated[int | None, typer.Option(help="Threads in total; default: all cores.")]
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
Scale = Annotated[float | None, typer.Option(help="Width of Thompson sampling.")]
Sigma = Annotated[float | None, typer.Option(help="Learning rate.")]
Ridge = Annotated[float | None, typer.Option(help="Regularisation.")]
ClickModelName = Annotated[
    str | None, typer.Option("--click-model", help="How users click.", show_default="cascade")
]
DynamicsName = Annotated[
    str | None,
    typer.Option("--dynamics", help="How users and items change.", show_default="still"),
]
DelayName = Annotated[
    str | None, typer.Option("--delay", help="When feedback arrives.", show_default="none")
]
OtherParameters = Annotated[
    list[str] | None, typer.Option("--set", help="name=value: any other parameter.")
]
