"""RQ2: equality of exposure by round."""

from __future__ import annotations

from matplotlib.figure import Figure

from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.policies import ComposedPolicy, Policy
from faircascade.report.blocks import Block, Notice
from faircascade.report.formatting import (
    environment_name,
    left_out,
    listed,
    seeds_of,
    title,
)
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import metric_panel
from faircascade.report.policy_styles import styles_of
from faircascade.report.style import legend
from faircascade.rewards import ExposureAware

_METRICS = ("equality_b", "equality_p")


def equality(study: StudyResults) -> list[Block]:
    """Equality (B) and (P) of the baseline and exposure-aware policies in the first environment."""
    environment = study.environments[0]
    wanted = [environment.baseline, *exposure_aware(environment)]
    labels = [label for label in wanted if environment.runs[label]]
    environment = environment.common(labels)
    name = environment_name(study, environment)
    if not labels:
        return [Notice("Not run yet", f"No policy is finished for {name}.")]
    drawn = styles_of(environment)
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    for ax, metric in zip(figure.subplots(1, 2, sharey=True), _METRICS, strict=True):
        metric_panel(ax, environment, labels, metric, drawn)
        ax.set(title=title(metric), xlabel="Round")
        ax.yaxis.set_tick_params(labelleft=True)
    legend(figure, {label: drawn[label] for label in labels})
    plate = CaptionedFigure(
        "equality",
        name,
        "Equality of exposure over everything shown up to that round, counting appearances (B) or "
        "weighing them by position (P). Look for curves that have levelled off, and for how far "
        f"they lie above {environment.baseline}."
        + seeds_of(environment, labels)
        + left_out(environment, wanted),
        f"Two line charts by round, Equality (B) and Equality (P), for {listed(labels)}.",
        figure,
    )
    return [plate]


def exposure_aware(environment: EnvironmentResults) -> list[str]:
    """Return the policies other than the baseline that weigh feedback by position."""
    return [
        label
        for label, policy in environment.policies.items()
        if label != environment.baseline and _weighs(policy)
    ]


def _weighs(policy: Policy) -> bool:
    return isinstance(policy, ComposedPolicy) and isinstance(policy.parts.reward, ExposureAware)
