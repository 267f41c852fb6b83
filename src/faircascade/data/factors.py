"""Features, preferences and merit by truncated singular value decomposition."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError

Floats = NDArray[np.float64]
Align = Literal["sign", "none", "procrustes"]
Preferences = Literal["svd", "lstsq"]

ROW_NORM = 1 / np.sqrt(2)
"""Length of a normalised feature row."""


class SVD(NamedTuple):
    """A ~ U diag(S) V^T, largest singular value first."""

    U: Floats  # (n_users, d)
    S: Floats  # (d,)
    V: Floats  # (n_items, d)


def truncated_svd(matrix: Any, dim: int, *, raw_signs: bool = False) -> SVD:
    """Return the rank-`dim` SVD of a sparse matrix.

    Each component is flipped so that its item vector sums to >= 0, unless `raw_signs` asks for
    the signs that dense LAPACK returns (which differ between LAPACK builds).
    """
    limit = min(matrix.shape)
    if not 1 <= dim < limit:
        raise DataError(
            f"dim must be between 1 and {limit - 1} (one less than the smaller side of "
            f"{matrix.shape[0]} users x {matrix.shape[1]} items), got {dim}"
        )
    if raw_signs:
        U, S, Vt = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return SVD(U[:, :dim], S[:dim], Vt[:dim].T)
    from scipy.sparse.linalg import svds

    start = np.full(limit, 1 / np.sqrt(limit))  # fixed, so that two runs agree to the bit
    U, S, Vt = svds(matrix.astype(np.float64), k=dim, v0=start, solver="arpack")
    order = np.argsort(-S, kind="stable")
    U, S, V = U[:, order], S[order], Vt[order].T
    flip = np.where(V.sum(axis=0) < 0, -1.0, 1.0)
    return SVD(U * flip, S, V * flip)


def item_features(train: Any, svd: SVD, *, normalize: bool) -> Floats:
    """Return X = V S, rows of length 1/sqrt(2) if normalised; items unseen in train stay 0."""
    X = np.ascontiguousarray(svd.V * svd.S)
    norms = np.linalg.norm(X, axis=1)
    unseen = (np.asarray(train.sum(axis=0)).ravel() == 0) | (norms <= 1e-10 * norms.max())
    X[unseen] = 0.0
    if normalize:
        X[~unseen] *= (ROW_NORM / norms[~unseen])[:, None]
    return X


def user_preferences(
    test: Any, train_svd: SVD, X: Floats, *, method: Preferences, align: Align
) -> Floats:
    """Return theta* of every user, (n_users, d), from the test half."""
    if method == "lstsq":
        return np.ascontiguousarray(np.linalg.lstsq(X, test.T.toarray(), rcond=None)[0].T)
    if method != "svd":
        raise ValueError(f"preferences must be 'svd' or 'lstsq', got {method!r}")
    svd = truncated_svd(test, X.shape[1], raw_signs=align == "none")
    return np.ascontiguousarray(svd.U @ _rotation(svd.V, train_svd.V, align))


def _rotation(V_test: Floats, V_train: Floats, align: Align) -> Floats:
    """Return the orthogonal matrix that brings the test components to the train components."""
    if align == "none":
        return np.eye(V_test.shape[1])
    overlap = V_test.T @ V_train  # (d, d)
    if align == "sign":
        return np.diag(np.where(np.diag(overlap) < 0, -1.0, 1.0))
    if align == "procrustes":
        left, _, right = np.linalg.svd(overlap)
        return np.asarray(left @ right)
    raise ValueError(f"align must be 'sign', 'none' or 'procrustes', got {align!r}")


def mean_relevance(matrix: Any, dim: int) -> Floats:
    """Return each item's mean over users in the rank-`dim` reconstruction, (n_items,)."""
    svd = truncated_svd(matrix, dim)
    return np.asarray(svd.V @ (svd.S * svd.U.mean(axis=0)))
