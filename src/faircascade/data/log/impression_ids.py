"""Ids of impressions: whether one of them comes again after its rows seemed to be over."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from faircascade.data.log.id_columns import id_array
from faircascade.types import Bools, Ints

OF_A_BLOCK = 128
"""Ids of a block that are remembered, about."""
BLOCKS = 64
"""Blocks of which ids are remembered at most."""


class ImpressionIds:
    """Some ids of blocks that were read, the more of the past the sparser.

    A log that is sorted by something else than its impressions has all ids again and again, so
    that a few of them tell; all ids of a long log would take more memory than the rest of it.
    """

    def __init__(self) -> None:
        self._kept: list[_Sample] = []
        self._blocks = 0
        self._stride = 1
        self._highest: float | None = -inf  # of ids that only grew so far

    def grow(self, heads: Any) -> bool:
        """Tell whether all ids so far are whole numbers, each above the one before."""
        import pyarrow as pa

        highest, self._highest = self._highest, None
        if highest is None or not pa.types.is_integer(heads.type) or not len(heads):
            return False
        values = heads.to_numpy()
        if values[0] <= highest or not (values[1:] > values[:-1]).all():
            return False
        self._highest = int(values[-1])
        return True

    def met(self, heads: Any) -> tuple[Bools, Bools]:
        """Tell which ids of a block are known from an earlier one, and were whole there, (n,)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._kept:
            return np.zeros(len(heads), dtype=bool), np.zeros(len(heads), dtype=bool)
        before = [each.ids for each in self._kept]
        if any(ids.type != heads.type for ids in before):
            heads, before = _as_text(heads), [_as_text(ids) for ids in before]
        places = pc.index_in(heads, value_set=pa.concat_arrays(before)).fill_null(-1).to_numpy()
        begun = np.concatenate([each.begun for each in self._kept])
        return places >= 0, begun[places]

    def add(self, heads: Any, begun: Bools) -> None:
        """Remember some ids of a block, and whether their first positions were in it."""
        import pyarrow as pa

        if self._kept and self._kept[-1].block % self._stride:
            self._kept.pop()
        chosen = np.arange(0, len(heads), max(1, len(heads) // OF_A_BLOCK))
        self._kept.append(_Sample(self._blocks, heads.take(pa.array(chosen)), begun[chosen]))
        self._blocks += 1
        if len(self._kept) > BLOCKS:
            self._stride *= 2
            *others, last = self._kept
            self._kept = [each for each in others if each.block % self._stride == 0] + [last]


class _Sample(NamedTuple):
    block: int
    ids: Any
    begun: Bools


def ids_at(column: Any, rows: Ints) -> Any:
    """Return the ids of some rows as an Arrow array that is no dictionary."""
    import pyarrow as pa

    heads = id_array(column).take(pa.array(rows))
    return heads.dictionary_decode() if pa.types.is_dictionary(heads.type) else heads


def repeated(heads: Any) -> tuple[Bools, Bools] | None:
    """Tell which ids are not the first of their kind, and which not the only one; None if all are.

    >>> import pyarrow as pa
    >>> [each.tolist() for each in repeated(pa.array([3, 5, 3]))]
    [[False, False, True], [True, False, True]]
    """
    coded = heads.dictionary_encode()
    if len(coded.dictionary) == len(heads):
        return None
    codes = coded.indices.to_numpy(zero_copy_only=False)
    again = np.ones(len(heads), dtype=bool)
    again[np.unique(codes, return_index=True)[1]] = False
    return again, np.bincount(codes)[codes] > 1


def _as_text(ids: Any) -> Any:
    import pyarrow as pa

    return ids if pa.types.is_string(ids.type) else ids.cast(pa.string())
