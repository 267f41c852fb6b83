"""Arrays, numbers and ids, and what they must be."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Ids = NDArray[Any]
Rows = slice | Ints
"""Which users of a state: a slice or an array of row numbers."""


def as_ids(values: Sequence[Any] | Ids | None, n: int, what: str) -> Ids:
    """Return `values` as an array of n distinct ids; None numbers them from 0."""
    ids = np.arange(n) if values is None else np.asarray(values)
    if ids.ndim != 1 or len(ids) != n:
        raise ValueError(f"{what} ids must be one for each of the {n} rows, got shape {ids.shape}")
    if ids.dtype.kind not in "Uiu":
        ids = np.array([id_text(i, f"{what} id") for i in ids.tolist()], dtype=str)
    values_, counts = np.unique(ids, return_counts=True)
    if len(values_) < n:
        twice = values_[counts > 1][0].item()
        raise ValueError(f"{what} ids must be distinct, got {twice!r} twice")
    return ids


def whole(value: Any, name: str) -> int:
    """Return an integer of any kind as an int; refuse everything else, True and False too."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return index(value)
    except TypeError:
        raise ParameterError(name, "must be a whole number", value) from None


def id_text(given: object, name: str) -> str:
    """Return the id of a user or an item, text or a whole number, as text."""
    try:
        return str(given if isinstance(given, str) else whole(given, name))
    except ParameterError:
        raise ParameterError(name, "must be text or a whole number", given) from None


def check_finite(array: Floats, what: str) -> Floats:
    """Return a copy of the array as contiguous float64, or say where it is not finite."""
    try:
        if array is None or np.iscomplexobj(array):  # NumPy would make numbers of them
            raise TypeError
        array = np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):  # texts, rows of several lengths, something else altogether
        raise ParameterError(what, "must be an array of numbers", array) from None
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ParameterError(what, f"must be finite at index {where}", array[where])
    return array
