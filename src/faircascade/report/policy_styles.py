"""Colours that stay the same over the figures of a page: one for each kind of policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faircascade.experiment.study_results import EnvironmentResults
from faircascade.metrics import higher_is_better
from faircascade.policies import Policy
from faircascade.report.style import DASHES, MARKERS, LineStyle, legend_label, line_styles

_KNOWN = ("EALinUCB log", "EALinUCB rbp", "EALinUCB linear", "EARSLinUCB", "FRMLinUCB merit-draws")
"""What has its colour whatever else is drawn."""
_MOST = 10
"""More policies than this are not told apart by their lines."""


def styles_of(environment: EnvironmentResults) -> dict[str, LineStyle]:
    """Return the look of each policy of an environment."""
    policies = [environment.policies[label] for label in environment.runs]
    return policy_styles(list(environment.runs), policies, baseline=environment.baseline)


def policy_styles(
    labels: Sequence[str], policies: Sequence[Policy], *, baseline: str | None = None
) -> dict[str, LineStyle]:
    """Return the look of each policy: its kind by colour, its parameters by dashes.

    Where all are of one kind, colours tell the parameters. The baseline (the first unless another
    is named) is grey.
    """
    kinds = {label: policy.label for label, policy in zip(labels, policies, strict=True)}
    first = labels[0] if baseline is None else baseline
    order = [first, *(label for label in labels if label != first)]
    if len(set(kinds.values())) == 1:
        by_label = line_styles(order)
    else:
        by_label = _by_kind({label: kinds[label] for label in order})
    return {label: by_label[label] for label in labels}


def _by_kind(kinds: Mapping[str, str]) -> dict[str, LineStyle]:
    """Return the look of each policy by its kind; the first policy is the baseline.

    Policies of one kind share a colour, and no two share colour, dashes and marker. The baseline's
    grey is its own: a variant of it has a colour like any other kind.
    """
    baseline, *others = kinds
    by_kind = line_styles(["", *dict.fromkeys([*_KNOWN, *(kinds[label] for label in others)])])
    found = {baseline: replace(by_kind[""], label=legend_label(baseline))}
    taken = set()
    for place, label in enumerate(others):
        look = by_kind[kinds[label]]
        steps = [(look.colour, *step) for step in _steps(look)]
        chosen = next((step for step in steps if step not in taken), steps[0])
        taken.add(chosen)
        _, dashes, marker = chosen
        order = 3.0 + place / 100
        found[label] = replace(
            look, label=legend_label(label), dashes=dashes, marker=marker, order=order
        )
    return found


def _steps(look: LineStyle) -> list[tuple[Any, str]]:
    """Return all dashes with all markers, those of a look first; neighbours differ in both."""
    dash, mark = DASHES.index(look.dashes), MARKERS.index(look.marker)
    return [
        (DASHES[(dash + n) % len(DASHES)], MARKERS[(mark + n) % len(MARKERS)])
        for n in range(len(DASHES) * len(MARKERS))
    ]


def told_apart(
    environment: EnvironmentResults, metrics: Sequence[str], labels: Sequence[str]
) -> tuple[dict[str, LineStyle], list[str]]:
    """Return the look of those of some policies to draw in colour, and the labels of the others.

    Lines of more than ten are not told apart: the baseline and the best in each metric are.
    """
    page = styles_of(environment)
    if len(labels) <= _MOST:
        return {label: page[label] for label in labels}, []
    chosen = {environment.baseline} & set(labels)
    for metric in metrics:
        sign = 1 if higher_is_better(metric) else -1
        means = {label: sign * float(environment.values(label, metric).mean()) for label in labels}
        known = {label: mean for label, mean in means.items() if not math.isnan(mean)}
        if known and len(chosen) < _MOST:
            chosen.add(max(known, key=known.__getitem__))
    first = environment.baseline if environment.baseline in chosen else min(chosen)
    rest = [label for label in labels if label in chosen and label != first]
    apart = line_styles([first, *rest])
    return (
        {label: replace(look, label=legend_label(label, 44)) for label, look in apart.items()},
        [label for label in labels if label not in chosen],
    )


def pale_words(others: Sequence[str]) -> str:
    """Say what pale lines are; nothing if there are none."""
    if not others:
        return ""
    return (
        " The baseline and the policies that end up best in a metric are in colour; the "
        f"{len(others)} others are pale, and curves.csv has them all."
    )
