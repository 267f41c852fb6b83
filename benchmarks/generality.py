"""Collect the runs of the reward model on five bandits for docs/explanation/generality.md.

    faircascade reproduce generality --path ml-1m.zip --out runs/generality
    python benchmarks/generality.py ml-1m=runs/generality anime=runs/anime ...

Each folder of runs is a data set of the page. Writes docs/reproduction/generality/results.csv, one
line for each cell, and the figure of the page. `make docs-tables` then fills its tables.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from faircascade.report.style import DIVERGING, INK, drawing, file_bytes

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reproduction" / "generality"
PICTURE = ROOT / "docs" / "figures" / "generality.png"
METRICS = ("clicks", "equality_b", "equality_p", "equity_b", "coverage", "tail_share")
WHERE = ("dataset", "world", "click_model", "policy", "seed")
FULL = 60.0
"""Change in percent from which on a colour does not get stronger."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = {tuple(line[name] for name in WHERE): line for line in kept()}
    for each in options.folders:
        dataset, _, folder = each.partition("=")
        lines |= {tuple(line[name] for name in WHERE): line for line in collected(dataset, folder)}
    with (FOLDER / "results.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, (*WHERE, *METRICS), lineterminator="\n")
        table.writeheader()
        table.writerows(
            lines[key] for key in sorted(lines, key=lambda key: (*key[:4], int(key[4])))
        )
    with drawing():
        PICTURE.write_bytes(file_bytes(figure(), "png"))


def kept() -> list[dict[str, str]]:
    """Return what was collected before."""
    path = FOLDER / "results.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def collected(dataset: str, folder: str) -> list[dict[str, str]]:
    """Return one line for each finished cell of a folder, whichever runs it is from."""
    lines = []
    for path in sorted(Path(folder).glob("cells/*/cell.json")):
        cell = json.loads(path.read_text(encoding="utf-8"))
        settings = cell["settings"]
        environment = settings["environment"]
        model, policy = environment["click_model"]["name"], label(cell)
        where = (dataset, environment["world"], model, policy)
        line = dict(zip(WHERE, (*where, str(settings["seed"])), strict=True))
        lines.append(line | {name: f"{cell['metrics'][name]:.6g}" for name in METRICS})
    if not lines:
        raise SystemExit(f"{folder}: there are no finished cells in it")
    return lines


def label(cell: dict[str, Any]) -> str:
    """Return the label of a cell, which says how it weighs whatever else its run had."""
    name = cell["label"].partition(" (weighs=")[0]
    policy = cell["settings"]["policy"]
    weight = policy.get("weight") or policy.get("reward", {}).get("weight")
    unscaled = weight is not None and "scaled" not in name
    return f"{name} (weighs={policy['weighs']})" if unscaled else str(name)


def figure() -> Figure:
    """Return a heat map for each world: what log weights do to each bandit under each model."""
    sys.path.insert(0, str(ROOT / "docs"))
    import tables

    models, found = tables.MODELS, tables.generality_changes()
    drawn = Figure(figsize=(8.4, 3.7))
    for place, (world, title) in enumerate(
        {"paper": "The paper's world", "popular": "Popular items are popular"}.items()
    ):
        ax = drawn.add_axes((0.13 + 0.445 * place, 0.16, 0.41, 0.58))
        ax.set(xlim=(-0.5, len(models) - 0.5), ylim=(len(tables.BANDITS) - 0.5, -0.5))
        for row, bandit in enumerate(tables.BANDITS):
            for column, model in enumerate(models):
                clicks, equality = found[world, bandit, model, "log", "targets"]
                shade = DIVERGING(0.5 - 0.5 * max(-1.0, min(1.0, equality.percent / FULL)))
                ink = "white" if abs(equality.percent) > FULL / 2 else INK
                ax.fill_between([column - 0.48, column + 0.48], row - 0.47, row + 0.47, color=shade)
                ax.text(
                    column, row - 0.13, f"{tables.signed(equality.percent, 0)}%",
                    ha="center", va="center", color=ink, fontsize=9.5, fontweight="bold",
                )  # fmt: skip
                ax.text(
                    column, row + 0.24, f"{tables.signed(clicks.percent, 1)}% clicks",
                    ha="center", va="center", color=ink, fontsize=6.5,
                )  # fmt: skip
        ax.set_xticks(range(len(models)), models)
        ax.set_yticks(range(len(tables.BANDITS)), tables.BANDITS if place == 0 else [])
        ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.set_title(title, pad=8, fontsize=9.5, color=INK)
    drawn.text(
        0.02, 0.94, "What exposure-aware weights (log) do to five bandits, by how users click",
        fontsize=10, fontweight="bold",
    )  # fmt: skip
    drawn.text(
        0.02, 0.03,
        "Large: change in Equality (B) against the same bandit without weights; blue is fairer, "
        "orange less fair.\nSmall: change in clicks. MovieLens 1M, ten seeds, "
        "200 users, 1,000 rounds.",
        fontsize=7,
    )  # fmt: skip
    return drawn


if __name__ == "__main__":
    main()
