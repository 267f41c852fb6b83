"""How evenly the exposure of a stretch of time is shared among the catalogue."""

from __future__ import annotations

import numpy as np

from faircascade.metrics.exposure import FAIRNESS, Exposures, evenness
from faircascade.rerankers.ledger import UNIT
from faircascade.service.exposure.counts import Counts
from faircascade.service.exposure.recipients import Recipients
from faircascade.types import Floats

MEASURES = (*FAIRNESS, "coverage")
"""What is measured of a stretch of time."""


def exposures(counts: Counts, recipients: Recipients) -> Exposures:
    """Return the exposure of each item by all four notions, (m,)."""
    appearances, units, _ = counts.of(recipients.slots)
    with np.errstate(over="ignore"):  # merit may be as small as numbers get
        return Exposures.of(appearances.astype(np.float64), units * UNIT, recipients.merit)


def fairness(counts: Counts, recipients: Recipients) -> Floats:
    """Return the value of each of `MEASURES`, (5,); NaN where there is none."""
    shared = exposures(counts, recipients)
    shown = shared.exposure_b > 0
    coverage = float(shown.mean()) if len(shown) else np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([*(evenness(exposure) for exposure in shared), coverage])
