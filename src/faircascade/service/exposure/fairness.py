"""How evenly the exposure of a stretch of time is shared among the catalogue."""

from __future__ import annotations

import numpy as np

from faircascade.metrics.exposure import evenness
from faircascade.rerankers.ledger import UNIT
from faircascade.service.exposure.counts import Counts
from faircascade.service.exposure.recipients import Recipients
from faircascade.types import Floats

NOTIONS = ("equality_b", "equality_p", "equity_b", "equity_p", "coverage")


def notions(counts: Counts, recipients: Recipients) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the exposure of each item: E_B, E_P, E_BM, E_PM, as in `metrics.exposure`, (m,)."""
    appearances, units, _ = counts.of(recipients.slots)
    exposure_b = appearances.astype(np.float64)
    exposure_p = units * UNIT
    with np.errstate(over="ignore"):  # merit may be as small as numbers get
        return exposure_b, exposure_p, exposure_b / recipients.merit, exposure_p / recipients.merit


def fairness(counts: Counts, recipients: Recipients) -> Floats:
    """Return the value of each of `NOTIONS`, (5,); NaN where there is none."""
    exposures = notions(counts, recipients)
    shown = exposures[0] > 0
    coverage = float(shown.mean()) if len(shown) else np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([*(evenness(exposure) for exposure in exposures), coverage])
