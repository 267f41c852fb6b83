"""The paper's Figure 4: what changes for each item against the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from faircascade.experiment.store.results import FinishedCell
from faircascade.experiment.study import EnvironmentResults, Study
from faircascade.metrics.exposure import Exposures
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import clicks_bar, item_panel
from faircascade.report.series import ItemShift, PerItem, shift_between
from faircascade.report.study.blocks import NOTHING_SIMULATED, Notice, Section
from faircascade.report.study.formatting import environment_name, left_out, listed, numbered
from faircascade.report.study.sections.equality import exposure_aware
from faircascade.report.style import legend_label

_MOST = 5
"""More columns than this would be too narrow to see anything."""

_NOTIONS = dict(zip(("E_B", "E_P", "E_B / merit", "E_P / merit"), Exposures._fields, strict=True))
"""Titles of the notions of exposure."""


def items(study: Study) -> Section:
    """Change in exposure and clicks of every item by notion and policy: first environment."""
    title = "What changes for each item"
    if not study.environments:
        return Section(title, [NOTHING_SIMULATED])
    environment = study.environments[0]
    name = environment_name(study, environment)
    wanted = exposure_aware(environment)
    ready = [label for label in wanted if environment.runs[label]][:_MOST]
    seeds = _shared_seeds(environment, [environment.baseline, *ready])
    if not ready or not seeds:
        words = f"A finished seed of {environment.baseline} and of a policy to compare is needed."
        return Section(title, [Notice(f"Not run yet ({name})", words)])
    beyond = [label for label in wanted if environment.runs[label]][_MOST:]
    more = f" Not drawn, as there are too many: {listed(beyond)}." if beyond else ""
    figure, unseen = _draw(environment, ready, seeds)
    never = f" Not drawn: {unseen:,} items that none of these policies shows." if unseen else ""
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {numbered(seeds)} added up"
    plate = CaptionedFigure(
        "items",
        name,
        f"Each point is an item: its change in exposure against {environment.baseline}, in percent "
        "of the mean of both (+200% is shown only here, −200% only by the baseline). Items stand "
        f"in the order of their exposure under {environment.baseline} by the notion of the row, "
        "most first; the colour says whether clicks follow. Right of the dotted line are items "
        f"that the baseline never shows. Exposure and clicks of a list shown, {which}.{never}{more}"
        + left_out(environment, wanted),
        f"Scatter charts, four notions of exposure by {listed(ready)}: percent change in exposure "
        f"of every item against {environment.baseline}, coloured by the change in its clicks.",
        figure,
    )
    return Section(title, [plate])


def _draw(
    environment: EnvironmentResults, labels: Sequence[str], seeds: Sequence[int]
) -> tuple[Figure, int]:
    """Return the figure, and how many items are not in it."""
    figure = Figure(
        figsize=(max(8.0, 2.2 * len(labels) + 1.4), 0.4 + 1.95 * len(_NOTIONS)),
        layout="constrained",
    )
    axes = figure.subplots(len(_NOTIONS), len(labels), sharex=True, sharey=True, squeeze=False)
    for row, (notion, exposure) in zip(axes, _NOTIONS.items(), strict=True):
        for ax, shift in zip(row, _shifts(environment, labels, seeds, exposure), strict=True):
            points = item_panel(ax, shift, size=4)
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        row[0].set_ylabel(notion, fontweight="bold")
    for ax, label in zip(axes[0], labels, strict=True):
        ax.set_title(legend_label(label, 30))
    figure.supxlabel(f"Item, by exposure under {legend_label(environment.baseline)}", fontsize=9)
    figure.supylabel("Change in exposure", fontsize=9)
    clicks_bar(figure, points, list(axes.flat), shrink=0.5)
    return figure, shift.left_out


def _shifts(
    environment: EnvironmentResults,
    labels: Sequence[str],
    seeds: Sequence[int],
    exposure: str,
) -> list[ItemShift]:
    runs = {
        label: [run for run in environment.runs[label] if run.seed in seeds]
        for label in (environment.baseline, *labels)
    }
    ids = np.unique(np.concatenate([run.items["item"] for found in runs.values() for run in found]))
    k = int(environment.options["k"])
    lists = {label: _per_list(found, ids, exposure, k) for label, found in runs.items()}
    return [shift_between(lists, environment.baseline, label) for label in labels]


def _per_list(
    runs: Iterable[FinishedCell],
    ids: NDArray[Any],
    exposure: str,
    k: int,
) -> PerItem:
    """Return exposure and clicks of each id per list shown, so that runs of any length compare."""
    total, clicks, lists = np.zeros(len(ids)), np.zeros(len(ids)), 0.0
    for run in runs:
        at = np.searchsorted(ids, run.items["item"])
        shared = Exposures.of(*(run.items[n] for n in ("exposure_b", "exposure_p", "merit")))
        total[at] += getattr(shared, exposure)
        clicks[at] += run.items["clicks"]
        lists += run.items["exposure_b"].sum() / k
    return PerItem(total / max(lists, 1.0), clicks / max(lists, 1.0))


def _shared_seeds(environment: EnvironmentResults, labels: Sequence[str]) -> list[int]:
    first, *others = (environment.seeds(label) for label in labels)
    return [seed for seed in first if all(seed in seeds for seeds in others)]
