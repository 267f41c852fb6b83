"""Ids become codes, block by block, in the order in which they appear."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log.id_columns import id_array, is_blank
from faircascade.data.log.whole_ids import MISSING, Codes, WholeIds, is_whole_id
from faircascade.types import Ids

_WHOLE = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_OFTEN = 4
"""Times that ids must occur in a column on average before they are looked up all at once."""


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
        self._whole = WholeIds()
        self._texts: dict[str, int] | None = None  # codes, in place of whole numbers

    def __len__(self) -> int:
        return len(self._whole if self._texts is None else self._texts)

    @property
    def ids(self) -> Ids:
        """All ids so far, by code."""
        if self._texts is None:
            return self._whole.values.copy()
        return np.array(list(self._texts), dtype=np.str_)

    def ids_from(self, code: int) -> list[int | str]:
        """Return the ids from a code on, as they are so far."""
        if self._texts is None:
            return list[int | str](self._whole.values[code:].tolist())
        return list[int | str](self._texts)[code:]

    def codes(self, column: Any) -> Codes:
        """Return the code of each value of an Arrow array; MISSING for none, or a broken one."""
        import pyarrow as pa

        column = id_array(column)
        if pa.types.is_null(column.type):
            return np.full(len(column), MISSING, dtype=np.int32)
        if self._texts is None:
            if pa.types.is_signed_integer(column.type):
                return self._of_integers(column)
        elif pa.types.is_string(column.type) and _OFTEN * len(self._texts) < len(column):
            return self._of_texts(column, list(self._texts))
        return self._one_by_one(column)

    def _one_by_one(self, column: Any) -> Codes:
        """Look up each distinct value."""
        import pyarrow as pa

        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        known = self._texts or {}
        values = column.dictionary.to_pylist()
        codes = [known[v] if v in known else self._code_of(v) for v in values]
        of_values = np.array([*codes, MISSING], dtype=np.int32)
        indices = column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        return np.asarray(of_values[indices])

    def _of_texts(self, column: Any, known: list[str]) -> Codes:
        """Look up text among few ids, each of which occurs often."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.index_in(column, value_set=pa.array(known, column.type))
        codes = np.array(found.fill_null(MISSING))
        if found.null_count:
            codes[codes == MISSING] = self._one_by_one(column.filter(found.is_null()))
        return codes

    def _of_integers(self, column: Any) -> Codes:
        if not column.null_count:
            return self._whole.codes(column)
        there = column.is_valid().to_numpy(zero_copy_only=False)
        codes = np.full(len(column), MISSING, dtype=np.int32)
        codes[there] = self._whole.codes(column.drop_null())
        return codes

    def _code_of(self, value: Any) -> int:
        """Return the code of a plain value, a new one if it was never seen."""
        key = self._key(value)
        if key is None:
            return MISSING
        if isinstance(key, int):
            return self._whole.add(key)
        assert self._texts is not None
        return self._texts.setdefault(key, len(self._texts))

    def _key(self, value: Any) -> int | str | None:
        """Return an id as it is kept; None for what is not one."""
        if isinstance(value, str):
            text = value.strip()
            if is_blank(text) or "\0" in text:  # which NumPy drops at the end of text
                return None
            if self._texts is None:
                if _WHOLE.fullmatch(text) and is_whole_id(int(text)):
                    return int(text)
                self._become_text()
            return text
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, float | Decimal):
            return self._key(int(value)) if _is_whole(value) else None
        if not isinstance(value, int):
            return None
        if self._texts is None and not is_whole_id(value):
            self._become_text()
        return value if self._texts is None else str(value)

    def _become_text(self) -> None:
        self._texts = {str(value): n for n, value in enumerate(self._whole.values.tolist())}

    def find(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """Return the codes of ids; MISSING for those that are not there."""
        return np.array([self._find(value) for value in ids], dtype=np.int64)

    def _find(self, value: Any) -> int:
        if isinstance(value, float | Decimal) and _is_whole(value):
            value = int(value)
        text = str(value).strip()
        if self._texts is not None:
            return self._texts.get(text, MISSING)
        return self._whole.find(int(text)) if _WHOLE.fullmatch(text) else MISSING


def _is_whole(value: float | Decimal) -> bool:
    return isfinite(value) and value == int(value)
