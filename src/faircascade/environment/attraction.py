"""Attraction as a table: what is said of it, and features that reproduce it."""

from __future__ import annotations

import numpy as np

from faircascade.errors import ParameterError
from faircascade.numerics import one_blas_thread
from faircascade.types import Floats, check_finite

MOST_INDICATORS = 4096
"""Items that get indicator features at most: there are as many features as items."""
_EXACT = 1e-9
"""How far features may be off an entry of the table."""


def attraction_table(table: Floats) -> Floats:
    """Return attraction by context and item, (n, m); a vector is one context."""
    given = check_finite(table, "table")
    if given.ndim not in (1, 2) or given.size == 0:
        raise ParameterError("table", "must be contexts x items, or a row of items", given.shape)
    found = np.atleast_2d(given)
    wrong = np.argwhere((found < 0) | (found > 1))
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        rule = f"must be between 0 and 1 at row {row}, column {column}"
        raise ParameterError("table", rule, found[row, column])
    return found


def indicators(items: int) -> Floats:
    """Return a feature for each item, 1 for the item and 0 for all others, (m, m)."""
    if items > MOST_INDICATORS:
        rule = f"must have at most {MOST_INDICATORS:,} items unless features are given"
        raise ParameterError("table", rule, items)
    return np.eye(items)


def preferences_of(table: Floats, features: Floats) -> Floats:
    """Return the preferences (n, d) that features (m, d) reproduce the table with."""
    X = check_finite(features, "features")
    if X.ndim != 2 or len(X) != table.shape[1]:
        rule = f"must be {table.shape[1]} (the items) x dimensions"
        raise ParameterError("features", rule, X.shape)
    with one_blas_thread():
        theta = np.linalg.lstsq(X, table.T, rcond=None)[0].T  # (n, d)
        off = float(np.abs(theta @ X.T - table).max())
    if off > _EXACT:
        rule = f"must reproduce the table with some preferences (the best are off by {off:.2g})"
        raise ParameterError("features", rule, X.shape)
    return np.ascontiguousarray(theta)
