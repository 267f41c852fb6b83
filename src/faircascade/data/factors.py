"""Features, preferences and merit by truncated singular value decomposition."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.errors import ParameterError
from faircascade.random import uniforms

Floats = NDArray[np.float64]
Align = Literal["sign", "none", "procrustes"]
Preferences = Literal["svd", "lstsq"]

ROW_NORM = 1 / np.sqrt(2)
"""Length of the longest feature row."""
_GRAM_LIMIT = 3000
"""Up to this many users (or items, if fewer) the matrix of their products is made dense."""


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
        users, items = matrix.shape
        rule = f"must be between 1 and {limit - 1}, for {users} users x {items} items"
        raise ParameterError("dim", rule, dim)
    if matrix.nnz == 0:
        raise DataError(
            "one half of the positives is empty: most users have fewer than 2, so nothing is left "
            "to learn features or preferences from"
        )
    if raw_signs:
        U, S, Vt = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return SVD(U[:, :dim], S[:dim], Vt[:dim].T)
    U, S, V = _by_gram(matrix, dim) if limit <= _GRAM_LIMIT else _by_arpack(matrix, dim)
    negligible = 1e-7 * S[0] >= S  # noise, where the matrix has a lower rank than asked for
    U[:, negligible], S[negligible], V[:, negligible] = 0.0, 0.0, 0.0
    flip = np.where(V.sum(axis=0) < 0, -1.0, 1.0)
    return SVD(U * flip, S, V * flip)


def _by_gram(matrix: Any, dim: int) -> SVD:
    """Decompose by the eigenvectors of the smaller of A A^T and A^T A, deterministically."""
    from scipy.linalg import eigh

    if matrix.shape[0] > matrix.shape[1]:
        U, S, V = _by_gram(matrix.T, dim)
        return SVD(V, S, U)
    n = matrix.shape[0]
    squares, U = eigh((matrix @ matrix.T).toarray(), subset_by_index=(n - dim, n - 1))
    S = np.sqrt(np.maximum(squares[::-1], 0.0))
    U = np.ascontiguousarray(U[:, ::-1])
    V = matrix.T @ U
    V = np.divide(V, S, out=np.zeros_like(V), where=S > 0)
    return SVD(U, S, V)


def _by_arpack(matrix: Any, dim: int) -> SVD:
    """Decompose a large matrix without ever making it dense."""
    from scipy.sparse.linalg import ArpackError, svds

    start = uniforms(0, "svd", np.arange(min(matrix.shape)))  # fixed, so that two runs agree
    try:
        U, S, Vt = svds(matrix.astype(np.float64), k=dim, v0=start, solver="arpack")
    except ArpackError as error:
        raise DataError(f"the ratings cannot be factorised with dim = {dim} ({error})") from None
    order = np.argsort(-S, kind="stable")
    return SVD(U[:, order], S[order], Vt[order].T)


def item_features(train: Any, svd: SVD, *, popularity_power: float) -> Floats:
    """Return X = V S with rows of other lengths; items unseen in train stay 0.

    The length of a row becomes its power, the largest 1/sqrt(2): with 0 all are that long, with 1
    they keep their proportions, in which items that many users like are longer.
    """
    X = np.ascontiguousarray(svd.V * svd.S)
    norms = np.linalg.norm(X, axis=1)
    unseen = (np.asarray(train.sum(axis=0)).ravel() == 0) | (norms <= 1e-10 * norms.max())
    X[unseen] = 0.0
    lengths = norms[~unseen]
    X[~unseen] *= (ROW_NORM / lengths * (lengths / lengths.max()) ** popularity_power)[:, None]
    return X


def user_preferences(
    test: Any, train_svd: SVD, X: Floats, *, method: Preferences, align: Align
) -> Floats:
    """Return theta* of every user, (n_users, d), from the test half."""
    if method == "lstsq":
        return np.ascontiguousarray(test @ np.linalg.pinv(X).T)
    svd = truncated_svd(test, X.shape[1], raw_signs=align == "none")
    return np.ascontiguousarray(svd.U @ _rotation(svd.V, train_svd.V, align))


def _rotation(V_test: Floats, V_train: Floats, align: Align) -> Floats:
    """Return the orthogonal matrix that brings the test components to the train components."""
    if align == "none":
        return np.eye(V_test.shape[1])
    overlap = V_test.T @ V_train  # (d, d)
    if align == "sign":
        return np.diag(np.where(np.diag(overlap) < 0, -1.0, 1.0))
    left, _, right = np.linalg.svd(overlap)
    return np.asarray(left @ right)


def mean_relevance(matrix: Any, dim: int) -> Floats:
    """Return each item's mean over users in the rank-`dim` reconstruction, (n_items,)."""
    svd = truncated_svd(matrix, dim)
    return np.asarray(svd.V @ (svd.S * svd.U.mean(axis=0)))
