"""The paper's Figure 1: what a click is worth at each position."""

from __future__ import annotations

from matplotlib.figure import Figure

from faircascade.experiment.comparison_inputs import distinct_labels
from faircascade.experiment.study_results import StudyResults
from faircascade.policies import Policy
from faircascade.report.blocks import (
    Block,
    Group,
    Head,
    Prose,
    Row,
    Table,
    text,
)
from faircascade.report.formatting import listed
from faircascade.report.numbers import number
from faircascade.report.pages import CaptionedFigure
from faircascade.report.policy_styles import policy_styles
from faircascade.report.style import LineStyle, legend
from faircascade.types import Floats

_NAMES = {
    "reference": "the authors' package",
    "paper": "as printed",
    "intended": "as meant",
}


def rewards(study: StudyResults) -> list[Block]:
    """The reward of a click by position, one panel for each reading; nothing is simulated."""
    k = int(study.first_options["k"])
    found, without = _by_reading(study, k)
    if not found:
        return [Prose(f"No policy here weighs clicks: {listed(without)}.")]
    policies = {label: policy for panel in found.values() for label, (policy, _) in panel.items()}
    drawn = policy_styles(list(policies), list(policies.values()))
    note = f" Without a reward model, and not shown: {listed(without)}." if without else ""
    return [
        _plate(found, drawn, k),
        _table(found, drawn, k),
        Prose(f"Penalties are not shown.{note}", soft=True),
    ]


Panels = dict[str, dict[str, tuple[Policy, Floats]]]
"""By reading and label: the policy, and the weight of a click at each position."""


def _by_reading(study: StudyResults, k: int) -> tuple[Panels, list[str]]:
    groups: dict[str, list[tuple[Policy, Floats]]] = {}
    without = []
    for label, policy, _ in study.lines:
        table = policy.reward_table(k)
        if table is None:
            without.append(label)
            continue
        reading = str(getattr(policy, "reading", ""))
        groups.setdefault(reading, []).append((policy, table.clicked[-1]))
    panels = {
        reading: dict(zip(distinct_labels([policy for policy, _ in members]), members, strict=True))
        for reading, members in groups.items()
    }
    return panels, without


def _plate(found: Panels, drawn: dict[str, LineStyle], k: int) -> CaptionedFigure:
    columns = min(len(found), 3)
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(2.7 * columns + 0.6, 0.5 + 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax in axes.flat[len(found) :]:
        ax.remove()
    for ax, (reading, panel) in zip(axes.flat, found.items(), strict=False):
        for label, (_, values) in panel.items():
            look = drawn[label]
            ax.plot(range(1, k + 1), values, marker=look.marker, markersize=4, **look.line)
        ax.set(title=_panel_title(reading), xticks=range(1, k + 1, 1 if k <= 10 else -(-k // 10)))
    figure.supxlabel("Position of the click", fontsize=9)
    figure.supylabel("Reward", fontsize=9)
    legend(figure, drawn)
    return CaptionedFigure(
        "rewards",
        "",
        "One panel for each reading of the paper. Where a line rises, a click far down the slate "
        "counts more than one at the top; plain LinUCB counts every click as 1.",
        f"Line charts of the reward of a click at positions 1 to {k}, one for each reading "
        f"({listed(found)}), for {listed(drawn)}. The values are in the table below.",
        figure,
    )


def _table(found: Panels, drawn: dict[str, LineStyle], k: int) -> Table:
    groups = [
        Group(
            tuple(
                Row(label, tuple(text(number(value)) for value in values), drawn[label].colour)
                for label, (_, values) in panel.items()
            ),
            _panel_title(reading),
        )
        for reading, panel in found.items()
    ]
    heads = tuple(Head(str(position)) for position in range(1, k + 1))
    return Table("By position", heads, tuple(groups))


def _panel_title(reading: str) -> str:
    return f"{reading}: {_NAMES[reading]}" if reading in _NAMES else reading
