"""Arithmetic whose result must not depend on who does it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ordered_sum(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the first axis in index order: every engine gets the same bits."""
    total: NDArray[np.float64] = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total
