"""Small studies to make pages of, and how to read what was written."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faircascade.data.load import load_dataset
from faircascade.experiment.cell import Cell
from faircascade.experiment.running.executors import Local
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from tests.report.html_page import Page

HOSTILE = "<script>alert('x')</script> [a](http://evil.test) | b_c"
SPEC = """
name = "tiny"
title = "Everything, small"
about = "All sections."
show = ["rewards", "exploration", "published", "equality", "items", "gammas", "bound", "table"]
metrics = [
    "clicks", "regret", "equality_b", "equality_p", "equity_b", "equity_p", "fairness_regret",
]

[data]
name = "synthetic"
users = 40
items = 120

[environment]
dim = 10
k = 5

[run]
rounds = 40
seeds = 2
checkpoints = 10

[every_policy]
reading = "paper"

[[policies]]
name = "linucb"

[[policies]]
name = "frmlinucb"
rounds = 15

[[policies]]
name = "ealinucb"
weight = "log"
gamma.grid = [0.0, 0.1, 0.5]

[[policies]]
name = "ealinucb"
weight = [1.0, 1.5, 2.0, 2.5, 3.0]

[[policies]]
name = "linucb"
alpha = 20.0
"""
NEW_WEIGHT, NEW_ALPHA = "EALinUCB custom", "LinUCB (alpha=20.0)"
BASELINE, SHORT = "LinUCB (alpha=0.25)", "FRMLinUCB merit-draws"
Rows = list[dict[str, str]]


def study_of(
    spec: Spec,
    folder: Path,
    cells: Sequence[Cell] | None = None,
    *,
    users: int = 40,
    items: int = 120,
) -> Study:
    """Return a study of which some cells (or all) were run."""
    asked, results = tuple(spec.cells("tiny")), Results(folder)
    sources = Sources({"tiny": load_dataset("synthetic", users=users, items=items)})
    chosen = asked if cells is None else cells
    ended = run_cells(chosen, sources, results, executor=Local(workers=1))
    assert ended.complete
    assert not ended.failures
    return Study(spec, asked, results)


def table(folder: Path, name: str) -> Rows:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def values(rows: Rows, **wanted: str) -> np.ndarray:
    return np.array(
        [float(row["value"]) for row in rows if all(row[n] == v for n, v in wanted.items())]
    )


def page_rows(page: Page, label: str, columns: int = 0) -> list[list[str]]:
    """Return the rows of all tables, or of those with so many columns, that are about a policy."""
    about = re.compile(re.escape(label) + r"(baseline|n =|not run|$)")
    rows = [row for row in page.rows if len(row) > 1 and about.match(row[0])]
    return [row for row in rows if not columns or len(row) == 1 + columns]
