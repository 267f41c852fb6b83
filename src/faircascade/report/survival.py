"""A heat map of which click bandit survives which users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from faircascade.paper.yandex import KNOWN, Survival
from faircascade.report.style import INK, drawing, file_bytes
from faircascade.storage import replacing

FILE = "survival.png"
MODELS = ("cascade", "dcm", "dbn", "ccm", "pbm", "ubm")
"""From users who stop at a click to users who look wherever they like."""
_SHADES = LinearSegmentedColormap.from_list("pale-orange", ["#eef3f7", "#f6d9b8", "#d1500a"])
_LEAST, _MOST = 0.002, 0.1
_DARK = 0.05
"""Share of the regret of random slates from which on words are white."""


def write_heat_map(found: Sequence[Survival], folder: str | Path) -> Path:
    """Draw the regret of each policy under each click model; return the file."""
    path = Path(folder) / FILE
    with drawing():
        picture = file_bytes(_heat_map(found), "png")
    with replacing(path) as draft:
        draft.write_bytes(picture)
    return path


def _heat_map(found: Sequence[Survival]) -> Figure:
    cells = {(each.policy, each.click_model): each for each in found}
    there = {each.click_model for each in found}
    models = [model for model in MODELS if model in there]
    policies = [name for name in dict.fromkeys(each.policy for each in found) if name != "Random"]
    figure = Figure(figsize=(1.6 + 0.95 * len(models), 1.5 + 0.42 * len(policies)))
    ax = figure.add_axes((0.21, 0.17, 0.77, 0.65))
    ax.set(xlim=(-0.5, len(models) - 0.5), ylim=(len(policies) - 0.5, -0.5))
    shade = LogNorm(_LEAST, _MOST, clip=True)
    for row, policy in enumerate(policies):
        for column, model in enumerate(models):
            cell = cells[policy, model]
            is_order = policy == KNOWN
            share = cell.of_random if is_order else cell.learning
            colour = "#e6e6e6" if is_order else _SHADES(shade(max(share, _LEAST)))
            ax.fill_between([column - 0.5, column + 0.5], row - 0.5, row + 0.5, color=colour, lw=0)
            ink = "white" if share >= _DARK and not is_order else INK
            ax.text(
                column, row - 0.12, f"{share:.1%}", ha="center", va="center", color=ink,
                fontsize=9, fontweight="bold",
            )  # fmt: skip
            ax.text(
                column, row + 0.25, f"{cell.regret:,.0f}", ha="center", va="center", color=ink,
                fontsize=6.5,
            )  # fmt: skip
    ax.set_xticks(range(len(models)), models)
    ax.set_yticks(range(len(policies)), policies)
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    seeds = min(each.seeds for each in found)
    figure.text(0.02, 0.94, "Which bandit survives which users", fontsize=10, fontweight="bold")
    figure.text(
        0.02, 0.02,
        "Columns: how users click. Large: what learning cost, the regret beyond that of slates by "
        "true attraction,\nas a share of the regret of random slates. Small: the whole regret. "
        f"Mean of {seeds} runs on each query.\nGrey: what slates by true attraction lose "
        "themselves; ranking by attraction can do no better.",
        fontsize=7,
    )  # fmt: skip
    return figure
