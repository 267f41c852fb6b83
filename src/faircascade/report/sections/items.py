"""The paper's Figure 4: what changes for each item against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics.exposure import FAIRNESS, Exposures
from faircascade.report.blocks import Block, Notice
from faircascade.report.formatting import environment_name, left_out, listed, numbered
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import clicks_bar, item_panel
from faircascade.report.sections.equality import exposure_aware
from faircascade.report.sections.pareto_panel import shorter_words
from faircascade.report.series import shifts
from faircascade.report.similar_metrics import left_out_words, without_twins
from faircascade.report.style import legend_label, wrapped_label

_MOST = 5
"""More columns than this would be too narrow to see anything."""

_NOTIONS = dict(zip(("E_B", "E_P", "E_B / merit", "E_P / merit"), Exposures._fields, strict=True))
"""Titles of the notions of exposure."""


def items(study: StudyResults) -> list[Block]:
    """Change in exposure and clicks of every item by notion and policy: first environment."""
    environment = study.environments[0]
    name = environment_name(study, environment)
    aware = exposure_aware(environment)
    wanted = [label for label in environment.runs if label != environment.baseline]
    if len(wanted) > _MOST:  # the paper's figure is about these
        wanted.sort(key=lambda label: label not in aware)
    ready = [label for label in wanted if label in environment.comparable]
    ready, beyond = ready[:_MOST], ready[_MOST:]
    seeds = _shared_seeds(environment, [environment.baseline, *ready])
    if not ready or not seeds:
        words = f"This needs a seed of {environment.baseline} and of another policy, equally long."
        return [Notice(f"Not run yet ({name})", words)]
    more = f" Too many to draw, and left out: {listed(beyond)}." if beyond else ""
    notions = _NOTIONS if "answer" not in study.show else _distinct(environment)
    figure, unseen = _draw(environment, ready, seeds, notions)
    never = f" {unseen:,} items that none of these policies shows are not drawn." if unseen else ""
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {numbered(seeds)} together"
    plate = CaptionedFigure(
        "items",
        name,
        f"Each point is an item: its exposure per slate against that under {environment.baseline}, "
        "as a percentage of the mean of both. At +200% only this policy shows it, at −200% only "
        f"{environment.baseline} does. Items are sorted by their exposure under "
        f"{environment.baseline}, most shown first, by the notion of exposure of the row. Points "
        "below zero at the left and above zero at the right mean that exposure moves from the most "
        "shown items to the others; the colour shows whether clicks follow. Items that "
        f"{environment.baseline} never shows are right of a dotted line. Data: {which}."
        f"{never}{more}"
        + (left_out_words(environment, FAIRNESS) if len(notions) < len(_NOTIONS) else "")
        + shorter_words(environment)
        + left_out(environment, wanted),
        f"Scatter charts, {len(notions)} notions of exposure by {listed(ready)}: percent change in "
        f"exposure of every item against {environment.baseline}, coloured by the change in clicks.",
        figure,
    )
    return [plate]


def _distinct(environment: EnvironmentResults) -> dict[str, str]:
    """Return the notions whose rows do not look alike."""
    kept = without_twins(environment, FAIRNESS)
    every = zip(FAIRNESS, _NOTIONS.items(), strict=True)
    return dict(notion for metric, notion in every if metric in kept)


def _draw(
    environment: EnvironmentResults,
    labels: Sequence[str],
    seeds: Sequence[int],
    notions: Mapping[str, str],
) -> tuple[Figure, int]:
    """Return the figure, and how many items are not in it."""
    figure = Figure(
        figsize=(max(8.0, 2.2 * len(labels) + 1.4), 0.4 + 1.95 * len(notions)),
        layout="constrained",
    )
    axes = figure.subplots(len(notions), len(labels), sharex=True, sharey=True, squeeze=False)
    runs = {
        label: [run for run in environment.runs[label] if run.seed in seeds]
        for label in (environment.baseline, *labels)
    }
    k = int(environment.options["k"])
    for row, (title, notion) in zip(axes, notions.items(), strict=True):
        found = shifts(runs, environment.baseline, notion, k)
        for ax, shift in zip(row, found.values(), strict=True):
            points = item_panel(ax, shift, size=4)
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        row[0].set_ylabel(title, fontweight="bold")
    for ax, label in zip(axes[0], labels, strict=True):
        ax.set_title(wrapped_label(label, 18))
    figure.supxlabel(f"Item, by exposure under {legend_label(environment.baseline)}", fontsize=9)
    figure.supylabel("Change in exposure", fontsize=9)
    clicks_bar(figure, points, list(axes.flat), shrink=0.5)
    return figure, shift.left_out


def _shared_seeds(environment: EnvironmentResults, labels: Sequence[str]) -> list[int]:
    first, *others = (environment.seeds(label) for label in labels)
    return [seed for seed in first if all(seed in seeds for seeds in others)]
