"""RQ2: equality of exposure by round."""

from __future__ import annotations

from matplotlib.figure import Figure

from faircascade.experiment.study import Study, World
from faircascade.policies import ComposedPolicy, Policy
from faircascade.report.pages import Plate
from faircascade.report.study.blocks import NOTHING_SIMULATED, Section, none_finished
from faircascade.report.study.exhibits.byround import metric_panel
from faircascade.report.study.looks import looks_of
from faircascade.report.study.words import (
    left_out,
    listed,
    seeds_of,
    title,
    world_name,
)
from faircascade.report.style import legend
from faircascade.rewards import ExposureAware

_METRICS = ("equality_b", "equality_p")


def equality(study: Study) -> Section:
    """Equality (B) and (P) of the baseline and the exposure-aware policies in the first world."""
    if not study.worlds:
        return Section("Equality by round", [NOTHING_SIMULATED])
    world = study.worlds[0]
    wanted = [world.baseline, *exposure_aware(world)]
    labels = [label for label in wanted if world.runs[label]]
    world = world.common(labels)
    name = world_name(study, world)
    if not labels:
        notice = none_finished(name)
        return Section("Equality by round", [notice])
    drawn = looks_of(world)
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    for ax, metric in zip(figure.subplots(1, 2, sharey=True), _METRICS, strict=True):
        metric_panel(ax, world, labels, metric, drawn)
        ax.set(title=title(metric), xlabel="Round")
        ax.yaxis.set_tick_params(labelleft=True)
    legend(figure, {label: drawn[label] for label in labels})
    plate = Plate(
        "equality",
        name,
        "Equality of exposure over everything shown up to that round, without regard to position "
        "(B) and by position (P). Look for curves that have levelled off, and for how far they "
        f"lie above {world.baseline}." + seeds_of(world, labels) + left_out(world, wanted),
        f"Two line charts by round, Equality (B) and Equality (P), for {listed(labels)}.",
        figure,
    )
    return Section("Equality by round", [plate])


def exposure_aware(world: World) -> list[str]:
    """Return the policies other than the baseline that weigh feedback by position."""
    return [
        label
        for label, policy in world.policies.items()
        if label != world.baseline and _weighs(policy)
    ]


def _weighs(policy: Policy) -> bool:
    return isinstance(policy, ComposedPolicy) and isinstance(policy.parts.reward, ExposureAware)
