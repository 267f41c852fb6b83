"""Open a file of items, and refuse what cannot be one. Tables are read for other purposes too, with
options that a service does not have; errors that name those options are reworded here for somebody
who wrote `--items FILE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from faircascade.data.base import DataError
from faircascade.data.columns import listed
from faircascade.data.layouts import TextOptions
from faircascade.data.tables import Table
from faircascade.data.text_tables import open_table

_HEAD_BYTES = 1 << 16
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_NO_TABLE = re.compile(rb'(\xef\xbb\xbf)?\s*(\{|\[\s*[\[{"\d-]|<)|PK\x03\x04|\x1f\x8b')
"""How JSON, markup and packed files begin; `[id]` is still a column."""
_ADVICE = {
    "; name another encoding with encoding=": "; the file must be UTF-8",
    "; name the separator with sep=": (
        "; columns must be separated by a comma, a tab, a semicolon or |"
    ),
}
"""Advice for Python, and what to say instead."""


def open_items(path: str | Path) -> Table:
    """Open a Parquet, CSV or TSV file, and refuse anything else in the words of a service."""
    path = Path(path).expanduser()
    check_is_file(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if head.startswith(_UTF16):
        raise DataError(f"{path}: is UTF-16 text; the file must be UTF-8")
    if not head.startswith(b"PAR1") and (_NO_TABLE.match(head) or b"\0" in head):
        begin = head[:20].decode(errors="replace")
        raise DataError(f"{path}: is not Parquet, CSV or TSV, it begins with {begin!r}")
    with rephrased_errors():
        return open_table(path, TextOptions(header=True))


def check_is_file(path: Path) -> None:
    """Refuse a folder."""
    if path.is_dir():
        raise DataError(f"{path}: --items must be a file: Parquet, CSV or TSV, got a folder")


@contextmanager
def rephrased_errors(names: Sequence[str] = ()) -> Iterator[None]:
    """Reword errors of reading: name no options that do not exist, and not all columns."""
    try:
        yield
    except DataError as error:
        text = str(error).replace(", ".join(names), listed(names)) if names else str(error)
        for advice, ours in _ADVICE.items():
            text = text.replace(advice, ours)
        raise DataError(text) from None
