"""The regret bound of Theorem 1, the number of rounds, and the regret that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade import theory
from faircascade.experiment.stats import estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.blocks import (
    Block,
    Group,
    Head,
    Line,
    Prose,
    Row,
    Table,
    text,
)
from faircascade.report.formatting import (
    NOT_RUN,
    estimate_lines,
    left_out,
    listed,
    seeds_of,
    tags,
)
from faircascade.report.numbers import number
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import log_panel
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.style import DOTTED, HALO, SOLID, LineStyle, legend, log_axis

_HEADS = (
    Head("alpha"),
    Head("alpha_min", "the theorem's least"),
    Head("gamma"),
    Head("gamma_max", "the theorem's most"),
    Head("Bound", "Eq. (13)"),
    Head("Rounds"),
    Head("Measured regret"),
    Head("Conditions", prose=True),
)


@dataclass(frozen=True)
class Checked:
    """A policy held against the theorem."""

    label: str
    conditions: theory.Conditions | None
    """None if the theorem is not about such a policy, or if it has not been run."""
    why_not: str

    @property
    def met(self) -> bool:
        return self.conditions is not None and self.conditions.met


def bound(study: StudyResults) -> list[Block]:
    """Bound, rounds and regret on log scales, with a table of the conditions, by environment."""

    def draw(environment: EnvironmentResults, name: str, place: int) -> list[Block]:
        checked = [_check(environment, label) for label in environment.runs]
        plate = _plate(f"bound-{place}", name, environment, checked)
        return [plate, _table(study, name, environment, checked)]

    words = "The table checks the estimator and the conditions that the theorem states. "
    return [
        *by_environment(study, draw),
        Prose((words + _beyond(study.matched)).rstrip(), soft=True),
    ]


def _beyond(environments: Sequence[EnvironmentResults]) -> str:
    """Say what the proof needs beyond the theorem, and whether the environments have it."""
    reasons: dict[str, dict[tuple[int, int], str]] = {}  # rule -> (environment, seed) -> "" if met
    for place, environment in enumerate(environments):
        for run in (run for found in environment.runs.values() for run in found):
            for rule, why in run.about["proof"].items():
                reasons.setdefault(rule, {})[place, run.seed] = why
    said = [f"{rule} ({_met(list(found.values()))})" for rule, found in reasons.items()]
    return f"The proof needs more of the environment: {'; '.join(said)}." if said else ""


def _met(reasons: Sequence[str]) -> str:
    """Say in how many environments a rule is broken, and how in the first of them."""
    broken = [why for why in reasons if why]
    if not broken:
        return "met"
    if len(reasons) == 1:
        return broken[0]
    return f"not met in {len(broken)} of {len(reasons)} splits; in the first of them {broken[0]}"


def _check(environment: EnvironmentResults, label: str) -> Checked:
    runs = environment.runs[label]
    if not runs:
        return Checked(label, None, NOT_RUN)
    longest = max(float(run.about["largest_preference"]) for run in runs)
    try:
        found = theory.check(
            environment.policies[label],
            dim=int(environment.options["dim"]),
            k=int(environment.options["k"]),
            rounds=environment.rounds(label),
            theta_norm=longest,
        )
    except ValueError as error:  # the theorem is about UCB alone
        return Checked(label, None, str(error))
    broken = [f"{c.rule}: {c.reason}" for c in found.conditions if not c.met]
    return Checked(label, found, "; ".join(broken))


def _plate(
    file: str, name: str, environment: EnvironmentResults, checked: Sequence[Checked]
) -> CaptionedFigure:
    drawn = styles_of(environment)
    ran = [c for c in checked if environment.runs[c.label]]
    panels = {
        "Stated conditions not met": [c for c in ran if not c.met],
        "Stated conditions met": [c for c in ran if c.met],
    }
    panels = {title: members for title, members in panels.items() if members}
    figure = Figure(figsize=(8.0 if len(panels) > 1 else 5.6, 4.4), layout="constrained")
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    extents = []
    for ax, (title, members) in zip(axes, panels.items(), strict=True):
        extents.append(_panel(ax, environment, members, drawn))
        ax.set(title=title, xlabel="Round n")
        ax.yaxis.set_tick_params(labelleft=True)
    least, most = min(low for low, _ in extents), max(high for _, high in extents)
    log_axis(axes[0], "x", 1, max(environment.rounds(c.label) for c in ran))
    log_axis(axes[0], "y", least, most)
    shown = {c.label: drawn[c.label] for c in ran}
    legend(figure, shown, dotted="Regret = n", solid="Eq. (13)")
    return CaptionedFigure(
        file,
        name,
        "Both scales are logarithmic. Regret can never exceed n, the dotted line, so a bound above "
        "it says nothing. The thin black lines are Eq. (13) with each policy's alpha; they bound "
        "regret only where the theorem's conditions are met."
        + seeds_of(environment, [c.label for c in ran])
        + left_out(environment, environment.runs),
        f"Log-log charts of measured regret by round for {listed(c.label for c in ran)}, with the "
        "line regret = n and the bound of Theorem 1. The last values are in the table below.",
        figure,
    )


def _panel(
    ax: Axes,
    environment: EnvironmentResults,
    members: Sequence[Checked],
    drawn: Mapping[str, LineStyle],
) -> tuple[float, float]:
    """Draw regret, n and the bounds; return the least and the greatest value drawn."""
    labels = [c.label for c in members]
    seen = log_panel(ax, environment, labels, "regret", drawn)
    rounds = np.unique(np.geomspace(1, max(map(environment.rounds, labels)), 200).round())
    ax.plot(rounds, rounds, **DOTTED)
    least, most = 1.0, float(rounds[-1])
    for alpha, sigma in dict.fromkeys(
        (c.conditions.alpha, c.conditions.sigma) for c in members if c.conditions
    ):
        size = int(environment.options["dim"]), int(environment.options["k"])
        curve = theory.bound(*size, rounds, alpha=alpha, sigma=sigma)
        ax.plot(rounds, curve, **SOLID)
        words: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": 8, "path_effects": HALO}
        end = (rounds[-1], curve[-1])
        ax.annotate(f"alpha = {alpha:g}", end, (0, 3), textcoords="offset points", **words)
        most = max(most, float(curve[-1]))
    return min([least, *(low for _, low, _ in seen.values())]), most * 2


def _table(
    study: StudyResults, name: str, environment: EnvironmentResults, checked: Sequence[Checked]
) -> Table:
    drawn = styles_of(environment)
    rows = [
        Row(
            c.label,
            _cells(environment, c),
            drawn[c.label].colour,
            tags(environment, c.label, study.longest, seeds=True),
        )
        for c in checked
    ]
    return Table(f"Conditions of Theorem 1, {name}", _HEADS, (Group(tuple(rows)),))


def _cells(environment: EnvironmentResults, c: Checked) -> tuple[tuple[Line, ...], ...]:
    regret = (
        tuple(estimate_lines(estimate(environment.values(c.label, "regret"))))
        if environment.runs[c.label]
        else text(NOT_RUN, "soft")
    )
    rounds = text(f"{environment.rounds(c.label):,}" if environment.runs[c.label] else NOT_RUN)
    found = c.conditions
    if found is None:
        return (*(text("–") for _ in range(5)), rounds, regret, text(c.why_not))
    vacuous = (Line("above n", "soft"),) if found.bound >= found.rounds else ()
    return (
        text(f"{found.alpha:g}"),
        text(number(found.alpha_min)),
        text(f"{found.gamma:g}"),
        text(number(found.gamma_max)),
        text(number(found.bound)) + vacuous,
        rounds,
        regret,
        text("✓ met" if found.met else f"✗ {c.why_not}"),
    )
