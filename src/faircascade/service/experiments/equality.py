"""How equally an arm shares exposure, as an estimate over blocks of users.

Equality, 1 - Gini of the exposure of items, is no mean over users. Each block of users changes it
by its pseudo-value, to first order (ranks change at second order), so that intervals over blocks go
on as for means. Noise makes exposure look less equal than it is, most of all with few slates;
`noisy_evenness` takes that away as far as the data say how much it is. Arms of equal size have
equal noise, so little is left of it in a difference; what unequal sizes may leave is in its bias.
"""

from __future__ import annotations

from dataclasses import replace

from faircascade.evaluation.equality import noisy_evenness
from faircascade.metrics.exposure import evenness
from faircascade.service.experiments.sequential import Estimate
from faircascade.types import Floats, Ints

DOUBT = 0.5
"""Share of the correction for noise that may be wrong."""


def equality(exposures: Ints | Floats) -> Estimate:
    """Return 1 - Gini of the total exposures of items, from those of blocks of users, (B, m).

    In appearances it is Equality (B), weighed by position Equality (P). All items of the catalogue
    have a column, those never shown included.
    """
    found = noisy_evenness(exposures.astype(float))
    noise = found.value - evenness(exposures.sum(axis=0).astype(float))
    spread = (found.highest - found.lowest) / 2
    return replace(Estimate.of_pseudo(found.value, found.pseudo, bias=spread), correction=noise)


def equality_difference(ours: Estimate, theirs: Estimate) -> Estimate:
    """Return the difference in Equality between two arms."""
    apart = ours.minus(theirs)
    return replace(apart, bias=apart.bias + DOUBT * abs(ours.correction - theirs.correction))
