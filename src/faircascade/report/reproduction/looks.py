"""Colours that stay the same over the figures of a page: one for each kind of policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from faircascade.experiment.study import World
from faircascade.policies import Policy
from faircascade.report.style import DASHES, Look, legend_label, looks

_KNOWN = ("EALinUCB log", "EALinUCB rbp", "EALinUCB linear", "EARSLinUCB", "FRMLinUCB fairx")
"""What has its colour whatever else is drawn."""


def looks_of(world: World) -> dict[str, Look]:
    """Return the look of each policy of a world."""
    return policy_looks(list(world.runs), list(world.policies.values()))


def policy_looks(labels: Sequence[str], policies: Sequence[Policy]) -> dict[str, Look]:
    """Return the look of each policy: its kind by colour, its parameters by dashes.

    Where all are of one kind, colours tell the parameters. The first is the baseline, in grey.
    """
    kinds = [policy.label for policy in policies]
    if len(set(kinds)) == 1:
        return looks(labels)
    order = dict.fromkeys([kinds[0], *_KNOWN, *kinds])
    by_kind = looks(list(order))
    found: dict[str, Look] = {}
    for place, (label, kind) in enumerate(zip(labels, kinds, strict=True)):
        look = replace(by_kind[kind], label=legend_label(label))
        variant = kinds[:place].count(kind)
        if variant:
            dashes = DASHES[(DASHES.index(look.dashes) + variant) % len(DASHES)]
            look = replace(look, dashes=dashes, width=1.6, order=3.0 + place / 100)
        found[label] = look
    return found
