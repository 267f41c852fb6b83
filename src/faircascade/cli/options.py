"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from faircascade.component_files import load_components


def _load(names: list[str] | None) -> list[str] | None:
    load_components(names or ())
    return names


OwnComponents = Annotated[
    list[str] | None,
    typer.Option(
        "--components",
        metavar="FILE",
        callback=_load,
        is_eager=True,
        help="File (.py) or module with parts of your own. May be repeated.",
    ),
]
"""Loaded before anything else is read, so that the parts are known by name."""
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="Spec file (.toml).")]
SpecSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH.TO.KEY=VALUE",
        help="Replace a value of the file; VALUE is TOML. May be repeated.",
    ),
]
ExecutorName = Annotated[
    str, typer.Option("--executor", help="Where cells run: local, gpu or ray (a cluster).")
]
Address = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster; default: start one here.")
]
Workers = Annotated[
    int | None,
    typer.Option(help="Cells to run at once; default: depends on how many and how long they are."),
]
Threads = Annotated[int | None, typer.Option(help="Threads in total; default: all cores.")]
MLflow = Annotated[
    str | None,
    typer.Option("--mlflow", help="Also log every finished cell to this MLflow address."),
]
AuditLogPath = Annotated[
    Path | None,
    typer.Option(
        "--audit-log",
        metavar="FILE",
        envvar="FAIRCASCADE_AUDIT_LOG",
        help="File to which a line is added for each change, with the key that made it.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]

DataName = Annotated[
    str, typer.Option("--data", help="Data set or file; see 'faircascade data list'.")
]
DataPath = Annotated[Path | None, typer.Option("--path", help="Archive or folder of the data set.")]
WorldName = Annotated[
    str | None,
    typer.Option(
        "--world", help="How ratings become attraction: popular or paper.", show_default="popular"
    ),
]
ClickRate = Annotated[
    float | None,
    typer.Option(
        "--click-rate",
        help="Clicks of the optimal slates under a cascade, 0 to 1.",
        show_default="the world's",
    ),
]
Dim = Annotated[int, typer.Option("--dim", help="Number of features, d.")]
SlateLength = Annotated[int, typer.Option("--k", help="Length of a slate, K.")]
EngineName = Annotated[str, typer.Option("--engine", help="Engine: auto, gpu, cpu or loop.")]

PolicyName = Annotated[
    str | None,
    typer.Option("--policy", help="Policy: {policy}.", show_default="ealinucb"),
]
Weight = Annotated[
    str | None,
    typer.Option(help="Weight of positions: log, rbp, linear; or --set weight=[1,2,...]."),
]
Beta = Annotated[float | None, typer.Option(help="Parameter of the weights rbp and linear.")]
Gamma = Annotated[float | None, typer.Option(help="Penalty for items seen and not clicked.")]
ReadingName = Annotated[
    str | None, typer.Option(help="Reading of the formulas: paper, intended or reference.")
]
Alpha = Annotated[float | None, typer.Option(help="Width of the exploration bonus.")]
Epsilon = Annotated[float | None, typer.Option(help="Share of positions filled at random.")]
Scale = Annotated[float | None, typer.Option(help="Width of Thompson sampling.")]
Sigma = Annotated[float | None, typer.Option(help="Learning rate.")]
Ridge = Annotated[float | None, typer.Option(help="Regularisation.")]
ClickModelName = Annotated[
    str | None,
    typer.Option("--click-model", help="How users click: {click_model}.", show_default="cascade"),
]
DynamicsName = Annotated[
    str | None,
    typer.Option(
        "--dynamics", help="How users and items change: {dynamics}.", show_default="still"
    ),
]
DelayName = Annotated[
    str | None, typer.Option("--delay", help="When feedback arrives: {delay}.", show_default="none")
]
OtherParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set any other parameter; VALUE is TOML. May be repeated.",
    ),
]
ItemsOver = Annotated[
    str, typer.Option("--over", help="Items that fairness is taken over: catalogue or eligible.")
]
