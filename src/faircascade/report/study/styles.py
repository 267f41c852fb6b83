"""Colours that stay the same over the figures of a page: one for each kind of policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from faircascade.experiment.study import EnvironmentResults
from faircascade.policies import Policy
from faircascade.report.style import DASHES, LineStyle, legend_label, line_styles

_KNOWN = ("EALinUCB log", "EALinUCB rbp", "EALinUCB linear", "EARSLinUCB", "FRMLinUCB fairx")
"""What has its colour whatever else is drawn."""


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
    """Return the look of each policy by its kind; the first kind is the baseline's."""
    order = dict.fromkeys([next(iter(kinds.values())), *_KNOWN, *kinds.values()])
    by_kind = line_styles(list(order))
    found: dict[str, LineStyle] = {}
    seen: Counter[str] = Counter()
    for place, (label, kind) in enumerate(kinds.items()):
        look = replace(by_kind[kind], label=legend_label(label))
        if seen[kind]:
            dashes = DASHES[(DASHES.index(look.dashes) + seen[kind]) % len(DASHES)]
            look = replace(look, dashes=dashes, width=1.6, order=3.0 + place / 100)
        seen[kind] += 1
        found[label] = look
    return found
