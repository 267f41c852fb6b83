"""What was run: the facts a reader needs to judge or repeat it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from faircascade.environment.environment import PARTS
from faircascade.experiment.cell_result import CellResult
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.blocks import Block, Group, Head, Listing, Row, Table, text
from faircascade.report.formatting import duration, listed, spread
from faircascade.report.numbers import number
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment

_SAID_ELSEWHERE = ("cautions", "data", "notes", "seed")
_HEADS = (
    Head("Name", prose=True),
    Head("Parameters", prose=True),
    Head("Rounds"),
    Head("Engine", prose=True),
    Head("Time"),
)


def setup(study: StudyResults) -> list[Block]:
    """The policies with their parameters, and how the environment was made."""
    return by_environment(
        study,
        lambda environment, name, _: [_policies(environment, name), _facts(environment, name)],
    )


def _policies(environment: EnvironmentResults, name: str) -> Table:
    looks = styles_of(environment)
    rows = [
        Row(label, _cells(environment.runs[label]), looks[label].colour)
        for label in environment.finished
    ]
    return Table(f"Policies, {name}", _HEADS, (Group(tuple(rows)),))


def _cells(runs: Sequence[CellResult]) -> tuple[Any, ...]:
    spec = dict(runs[0].about["settings"]["policy"])
    name = str(spec.pop("name"))
    engines = dict.fromkeys(f"{r.about['engine']} ({r.about['engine_reason']})" for r in runs)
    return (
        text(name),
        text(listed(f"{key} = {_plain(value)}" for key, value in spec.items()) or "none"),
        text(spread(run.rounds for run in runs)),
        text("; ".join(engines)),
        text(duration(sum(float(run.about["seconds"]) for run in runs))),
    )


def _facts(environment: EnvironmentResults, name: str) -> Listing:
    """Say how the environment was made, as it says itself; over all seeds."""
    abouts = [run.about for run in environment.runs[environment.finished[0]]]
    made = [about["environment"] for about in abouts]
    parts = [about["parts"] for about in abouts]
    names = dict.fromkeys(name for info in made for name in info if name not in _SAID_ELSEWHERE)
    optimum = float(np.mean([about["optimal_value"] for about in abouts]))
    return Listing(
        f"How the environment was made, {name}",
        (
            ("Users", spread(about["users"] for about in abouts)),
            ("Items", spread(about["items"] for about in abouts)),
            ("Value of the optimal slates", number(optimum)),
            *((n.replace("_", " ").capitalize(), _distinct(p[n] for p in parts)) for n in PARTS),
            *((n.replace("_", " "), _distinct(i[n] for i in made if n in i)) for n in names),
            ("Fingerprint of the environment", _distinct(a["fingerprint"] for a in abouts)),
        ),
    )


def _distinct(values: Iterable[Any]) -> str:
    """Return each value once."""
    return listed(dict.fromkeys(map(_plain, values)))


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        given = {k: v for k, v in value.items() if k != "name" and v is not None}
        inner = ", ".join(f"{k} = {_plain(v)}" for k, v in given.items())
        name = str(value.get("name", ""))
        return f"{name}({inner})" if inner or not name else name
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, default=str)
