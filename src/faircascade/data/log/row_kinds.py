"""What a row of a log is: a position, or a whole impression."""

from __future__ import annotations

from typing import Any, Literal

from faircascade.data.base import DataError
from faircascade.data.log.log_columns import LogColumns
from faircascade.data.log.row_streams import RowStream
from faircascade.data.log.values import one_array

RowsOf = Literal["positions", "impressions"]
SEPARATORS = "|,; "
"""What may stand between the values of a list in text."""
_SOME = 100


def find_row_kind(source: RowStream, columns: LogColumns) -> RowsOf:
    """Find out what a row is from the first ones."""
    assert columns.item is not None
    wanted = [name for name in (columns.item, columns.click) if name is not None]
    some = (block for block in source.blocks(wanted) if block.num_rows)
    block = next(some, None)
    if block is None:
        raise DataError(f"{source.label}: there are no rows in it")
    return "impressions" if _has_lists(block, columns) else "positions"


def _has_lists(block: Any, columns: LogColumns) -> bool:
    """Tell whether a column of items holds several items in a row."""
    import pyarrow as pa

    kind = block[columns.item].type
    if any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list)):
        return True
    if pa.types.is_fixed_size_list(kind):
        return True
    if columns.position is not None:
        return False
    if columns.click is None:  # clicked positions or items are of a whole slate
        return True
    texts = _some_texts(block[columns.item])
    if texts and all("|" in text or text.startswith("[") for text in texts):
        return True
    return any(is_list(text) for text in _some_texts(block[columns.click]))


def is_list(text: str) -> bool:
    """Tell whether text that holds 0 or 1, or a list of them, is a list."""
    text = text.strip()
    return text.startswith("[") or any(separator in text for separator in SEPARATORS)


def _some_texts(column: Any) -> list[str]:
    values = one_array(column.slice(0, _SOME)).to_pylist()
    return [str(value) for value in values if value is not None]
