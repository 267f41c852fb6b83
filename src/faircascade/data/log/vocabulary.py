"""Ids become codes, block by block, in the order in which they appear."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Ids

MISSING = -1
_DENSE = 1 << 26
"""Whole numbers from 0 up to here are looked up in a table, others in a dictionary."""
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_BLANK = ("", "nan", "null", "none")

Codes = NDArray[np.int32]


class Vocabulary:
    """Distinct ids, whole numbers or text; the code of an id is its row.

    Ids stay whole numbers as long as all of them are; 7 and "7" are one id.

    >>> import pyarrow as pa
    >>> ids = Vocabulary()
    >>> ids.codes(pa.array([7, 3, 7, None])).tolist(), ids.codes(pa.array(["3", "x"])).tolist()
    ([0, 1, 0, -1], [1, 2])
    >>> ids.ids.tolist()
    ['7', '3', 'x']
    """

    def __init__(self) -> None:
        self._values: list[int | str] = []
        self._code: dict[int | str, int] = {}
        self._table: Codes = np.full(0, MISSING, dtype=np.int32)
        self._text = False

    def __len__(self) -> int:
        return len(self._values)

    @property
    def ids(self) -> Ids:
        """All ids so far, by code."""
        if self._text:
            return np.array([str(value) for value in self._values], dtype=np.str_)
        return np.array(self._values, dtype=np.int64)

    def ids_from(self, code: int) -> list[int | str]:
        """Return the ids from a code on, as they are so far."""
        return self._values[code:]

    def codes(self, column: Any) -> Codes:
        """Return the code of each value of an Arrow array; MISSING for none, or a broken one."""
        import pyarrow as pa

        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
            if isinstance(column, pa.ChunkedArray):  # an empty one has no chunk
                column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        if pa.types.is_null(column.type):
            return np.full(len(column), MISSING, dtype=np.int32)
        if pa.types.is_signed_integer(column.type) and not self._text:
            return self._of_integers(column)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        of_values = np.array(
            [*(self._code_of(value) for value in column.dictionary.to_pylist()), MISSING],
            dtype=np.int32,
        )
        indices = column.indices.fill_null(len(of_values) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(of_values[indices])

    def _of_integers(self, column: Any) -> Codes:
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        codes = np.full(len(values), MISSING, dtype=np.int32)
        if len(values) == 0:
            return codes
        dense = values.min() >= 0 and values.max() < _DENSE
        if dense:
            self._grow(int(values.max()) + 1)
            codes = self._table[values]
        new = codes == MISSING
        if missing is not None:
            new &= ~missing
        if new.any():
            some = values[new]
            distinct, first, rows = np.unique(some, return_index=True, return_inverse=True)
            order = np.argsort(first)
            found = np.empty(len(distinct), dtype=np.int32)
            found[order] = [self._code_of(int(value)) for value in distinct[order]]
            codes[new] = found[rows]
            if dense:
                self._table[distinct] = found
        if missing is not None:
            codes[missing] = MISSING
        return codes

    def _grow(self, size: int) -> None:
        if size > len(self._table):
            wider = np.full(max(size, 2 * len(self._table)), MISSING, dtype=np.int32)
            wider[: len(self._table)] = self._table
            self._table = wider

    def _code_of(self, value: Any) -> int:
        """Return the code of a plain value, a new one if it was never seen."""
        key = self._key(value)
        if key is None:
            return MISSING
        code = self._code.get(key)
        if code is None:
            code = self._code[key] = len(self._values)
            self._values.append(key)
        return code

    def _key(self, value: Any) -> int | str | None:
        """Return an id as it is kept; None for what is not one."""
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, float):
            return self._key(int(value)) if value.is_integer() else None
        if isinstance(value, str):
            text = value.strip()
            if text.lower() in _BLANK:
                return None
            if not self._text:
                if _WHOLE.fullmatch(text):
                    return int(text)
                self._become_text()
            return text
        if not isinstance(value, int):
            return None
        if abs(value) >= 2**63 and not self._text:
            self._become_text()
        return str(value) if self._text else value

    def _become_text(self) -> None:
        self._text = True
        self._values = [str(value) for value in self._values]
        self._code = {value: code for code, value in enumerate(self._values)}

    def find(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """Return the codes of ids; MISSING for those that are not there."""
        keys = (self._key_to_find(value) for value in ids)
        return np.array([self._code.get(key, MISSING) for key in keys], dtype=np.int64)

    def _key_to_find(self, value: Any) -> int | str:
        text = str(value).strip()
        return int(text) if not self._text and _WHOLE.fullmatch(text) else text
