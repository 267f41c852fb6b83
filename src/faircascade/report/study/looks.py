"""Colours that stay the same over the figures of a page: one for each kind of policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from faircascade.experiment.study import World
from faircascade.policies import Policy
from faircascade.report.style import DASHES, Look, legend_label, looks

_KNOWN = ("EALinUCB log", "EALinUCB rbp", "EALinUCB linear", "EARSLinUCB", "FRMLinUCB fairx")
"""What has its colour whatever else is drawn."""


def looks_of(world: World) -> dict[str, Look]:
    """Return the look of each policy of a world."""
    policies = [world.policies[label] for label in world.runs]
    return policy_looks(list(world.runs), policies, baseline=world.baseline)


def policy_looks(
    labels: Sequence[str], policies: Sequence[Policy], *, baseline: str | None = None
) -> dict[str, Look]:
    """Return the look of each policy: its kind by colour, its parameters by dashes.

    Where all are of one kind, colours tell the parameters. The baseline (the first unless another
    is named) is grey.
    """
    kinds = {label: policy.label for label, policy in zip(labels, policies, strict=True)}
    first = labels[0] if baseline is None else baseline
    order = [first, *(label for label in labels if label != first)]
    if len(set(kinds.values())) == 1:
        by_label = looks(order)
    else:
        by_label = _by_kind({label: kinds[label] for label in order})
    return {label: by_label[label] for label in labels}


def _by_kind(kinds: Mapping[str, str]) -> dict[str, Look]:
    """Return the look of each policy by its kind; the first kind is the baseline's."""
    order = dict.fromkeys([next(iter(kinds.values())), *_KNOWN, *kinds.values()])
    by_kind = looks(list(order))
    found: dict[str, Look] = {}
    seen: Counter[str] = Counter()
    for place, (label, kind) in enumerate(kinds.items()):
        look = replace(by_kind[kind], label=legend_label(label))
        if seen[kind]:
            dashes = DASHES[(DASHES.index(look.dashes) + seen[kind]) % len(DASHES)]
            look = replace(look, dashes=dashes, width=1.6, order=3.0 + place / 100)
        seen[kind] += 1
        found[label] = look
    return found
