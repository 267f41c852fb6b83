"""Whole numbers become codes, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]

MISSING = -1
"""Code of what is no id."""
_DENSE = 1 << 26
"""Numbers from 0 up to here are looked up in a table, others in a dictionary."""


class WholeIds:
    """Distinct whole numbers; the code of a number is its place in the order of appearance.

    >>> import pyarrow as pa
    >>> ids = WholeIds()
    >>> ids.codes(pa.array([7, 3, 7])).tolist(), ids.values.tolist()
    ([0, 1, 0], [7, 3])
    """

    def __init__(self) -> None:
        self._values = np.empty(0, dtype=np.int64)  # with room for more
        self._size = 0
        self._table: Codes = np.full(0, MISSING, dtype=np.int32)
        self._code: dict[int, int] = {}  # of numbers that are not in the table
        self._consistent = True  # False while a number is added, and for good if Ctrl-C came then

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[np.int64]:
        """All numbers so far, by code."""
        return self._values[: self._size]

    def codes(self, column: Any) -> Codes:
        """Return the codes of an Arrow array without gaps, new ones for new numbers."""
        import pyarrow as pa

        values = column.to_numpy(zero_copy_only=False)
        if not len(values):
            return np.empty(0, dtype=np.int32)
        self._mend()
        if values.min() < 0 or values.max() >= _DENSE:
            distinct = column.dictionary_encode()
            known = [self.add(value) for value in distinct.dictionary.to_pylist()]
            return np.asarray(np.array(known, dtype=np.int32)[distinct.indices.to_numpy()])
        self._widen_table(int(values.max()) + 1)
        codes: Codes = self._table[values]
        new = codes == MISSING
        if new.any():
            found = pa.array(values[new]).dictionary_encode()
            distinct = found.dictionary.to_numpy()
            added = np.arange(self._size, self._size + len(distinct), dtype=np.int32)
            self._consistent = False
            self._table[distinct] = added
            self._append(distinct)
            self._consistent = True
            codes[new] = added[found.indices.to_numpy()]
        return codes

    def add(self, value: int) -> int:
        """Return the code of a number, a new one if it was never seen."""
        code = self.find(value)
        if code == MISSING:
            code = self._size
            self._consistent = False
            self._append(np.array([value]))
            if 0 <= value < _DENSE:
                self._widen_table(value + 1)
                self._table[value] = code
            else:
                self._code[value] = code
            self._consistent = True
        return code

    def find(self, value: int) -> int:
        """Return the code of a number, MISSING if it was never seen."""
        self._mend()
        if 0 <= value < _DENSE:
            return int(self._table[value]) if value < len(self._table) else MISSING
        return self._code.get(value, MISSING)

    def _append(self, values: NDArray[np.int64]) -> None:
        size = self._size + len(values)
        if size > len(self._values):
            wider = np.empty(max(size, 2 * len(self._values)), dtype=np.int64)
            wider[: self._size] = self.values
            self._values = wider
        self._values[self._size : size] = values
        self._size = size

    def _widen_table(self, size: int) -> None:
        if size > len(self._table):
            wider = np.full(max(size, 2 * len(self._table)), MISSING, dtype=np.int32)
            wider[: len(self._table)] = self._table
            self._table = wider

    def _mend(self) -> None:
        """Make the table and the dictionary say what the values do."""
        if self._consistent:
            return
        dense = (self.values >= 0) & (self.values < _DENSE)
        self._table.fill(MISSING)
        self._widen_table(int(self.values[dense].max(initial=-1)) + 1)
        self._table[self.values[dense]] = np.flatnonzero(dense)
        others = np.flatnonzero(~dense)
        self._code = dict(zip(self.values[others].tolist(), others.tolist(), strict=True))
        self._consistent = True


def is_whole_id(value: int) -> bool:
    """Tell whether a number is small enough to be kept as one."""
    return -(2**63) <= value < 2**63
