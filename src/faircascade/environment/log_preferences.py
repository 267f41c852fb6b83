"""Features and preferences from what users clicked, given that they looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.factors import truncated_svd
from faircascade.data.log import Log
from faircascade.data.log.log_columns import USUAL
from faircascade.data.log.row_streams import open_rows
from faircascade.data.log.values import numbers
from faircascade.environment.log_sums import LogSums
from faircascade.errors import ParameterError
from faircascade.types import Floats, Ints

_DOUBT = 5.0
"""Looks of a user at an item after which their clicks count half in the factorisation."""
_PAIRS_AT_ONCE = 1 << 18
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, np.inf)
"""Strengths of shrinkage that are tried, in looks; the last leaves the mean of all users."""


class Basis(NamedTuple):
    """Features of items and the preferences that everybody has until they click."""

    features: Floats  # (m, d)
    common: Floats  # (d,)
    kinds: Ints
    """Features of one kind, numbered from 0 on, shrink alike, (d,)."""

    @property
    def sizes(self) -> Floats:
        """Mean square of features of the same kind, (d,)."""
        squares = np.mean(self.features**2, axis=0)
        means = np.bincount(self.kinds, squares) / np.bincount(self.kinds)
        return np.asarray(np.maximum(means, 1e-12)[self.kinds])


def factor_basis(sums: LogSums, mean: Floats, dim: int) -> Basis:
    """Take the mean attraction of items as the first feature, and as the others the factors of
    what users click beyond it: clicks less what the mean predicts, over looks."""
    from scipy.sparse import csr_matrix

    shape = (len(sums.impressions), sums.n_items)
    rank = min(dim, *shape) - 1
    columns = [mean[:, None]]
    if rank > 0:
        beyond = (sums.clicks - sums.looks * mean[sums.items]) / (sums.looks + _DOUBT)
        svd = truncated_svd(csr_matrix((beyond, (sums.users, sums.items)), shape), rank)
        columns.append(svd.V * svd.S / np.sqrt(shape[0]))
    features = np.concatenate(columns, axis=1)
    common = np.eye(features.shape[1])[0]
    return Basis(features, common, (common == 0).astype(np.int64))


def given_basis(sums: LogSums, mean: Floats, features: Floats) -> Basis:
    """Fit the mean attraction of items by their features, weighted by looks."""
    weight = np.sqrt(sums.of_items(sums.looks))
    common = np.linalg.lstsq(features * weight[:, None], mean * weight, rcond=None)[0]
    kinds = np.zeros(features.shape[1], dtype=np.int64)
    return Basis(features, np.asarray(common, dtype=np.float64), kinds)


class Regression(NamedTuple):
    """Weighted least squares of every user, to be solved with any strength of shrinkage."""

    basis: Basis
    moments: Floats
    """Sums of looks times x x^T, (n, d, d)."""
    residuals: Floats
    """Sums of (clicks less looks times the common attraction) x, (n, d)."""

    @classmethod
    def of(cls, sums: LogSums, basis: Basis) -> Regression:
        n, d = len(sums.impressions), basis.features.shape[1]
        moments, residuals = np.zeros((n, d, d)), np.zeros((n, d))
        for users, x, looks, beyond in _by_users(sums, basis):
            rows = np.flatnonzero(np.r_[True, users[1:] != users[:-1]])
            outer = (x * looks[:, None])[:, :, None] * x[:, None, :]
            moments[users[rows]] += np.add.reduceat(outer, rows)
            residuals[users[rows]] += np.add.reduceat(x * beyond[:, None], rows)
        return cls(basis, moments, residuals)

    def preferences(self, strengths: Sequence[float]) -> Floats:
        """Return preferences, (n, d): those of users with few looks are about the common ones.

        `strengths` are those of each kind of feature, in looks; one that is infinite leaves
        features of this kind as everybody has them.
        """
        found = np.tile(self.basis.common, (len(self.moments), 1))
        penalty = np.array(strengths)[self.basis.kinds] * self.basis.sizes
        free = np.flatnonzero(np.isfinite(penalty))
        if len(free):
            moments = self.moments[:, free[:, None], free] + np.diag(penalty[free])
            own = np.linalg.solve(moments, self.residuals[:, free, None])[:, :, 0]
            found[:, free] += own
        return found


def _by_users(sums: LogSums, basis: Basis) -> Iterator[Any]:
    """Yield pairs in blocks, users in order."""
    expected = basis.features @ basis.common
    for first in range(0, len(sums.users), _PAIRS_AT_ONCE):
        part = slice(first, first + _PAIRS_AT_ONCE)
        items, looks = sums.items[part], sums.looks[part]
        beyond = sums.clicks[part] - looks * expected[items]
        yield sums.users[part], basis.features[items], looks, beyond


def item_table(features: Any, log: Log) -> Floats:
    """Return the features of the items of a log, (m, d), from a table with a row for each item."""
    import pyarrow as pa

    rows = open_rows(features, member=None, sep=None, encoding="utf-8")
    key = log.columns.item if log.columns.item in rows.names else None
    named = [name for name in rows.names if name.lower() in USUAL["item"]]
    key = key or (named[0] if named else rows.names[0])
    table = pa.concat_tables(
        [block for block in rows.blocks(rows.names) if block.num_rows],
        promote_options="permissive",
    )
    codes = {str(value): row for row, value in enumerate(table[key].to_pylist())}
    wanted = [str(item) for item in log.item_ids.tolist()]
    missing = next((item for item in wanted if item not in codes), None)
    if missing is not None:
        raise DataError(f"{rows.label}: item {missing!r} of the log is not in column {key!r}")
    order = [codes[item] for item in wanted]
    columns = [numbers(table[name])[order] for name in rows.names if name != key]
    found = np.stack(columns, axis=1) if columns else np.zeros((len(order), 0))
    if not found.size or not np.isfinite(found).all():
        rule = f"must have numbers in all columns but {key!r}"
        raise ParameterError("features", rule, list(rows.names))
    return found
