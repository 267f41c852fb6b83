"""Exposure as tables, for other programs: CSV or JSON, some rows at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import orjson

from faircascade.service.exposure.counters import ExposureSnapshot
from faircascade.service.exposure.recipients import Recipients
from faircascade.service.exposure.shares import Shares
from faircascade.service.exposure.summary import By

Format = Literal["csv", "json"]
Row = Mapping[str, Any]

ROWS = 5_000
"""Rows that are written at a time."""


def recipient_rows(
    snapshot: ExposureSnapshot, recipients: Recipients, by: By
) -> Iterator[Sequence[Row]]:
    """Yield all items, groups or suppliers, in the order of the catalogue or by name."""
    shares = Shares.of_items(snapshot.counts, recipients)
    if by != "item":
        shares = shares.of_groups(recipients.by_group if by == "group" else recipients.by_supplier)
    for first in range(0, len(shares.names), ROWS):
        yield shares.rows(np.arange(first, min(first + ROWS, len(shares.names))))


def written(pages: Iterable[Sequence[Row]], format: Format) -> Iterator[bytes]:
    """Yield a document of rows that all have the same columns, a piece at a time.

    >>> b"".join(written([[{"name": "a,b", "clicks": 1}], [{"name": None, "clicks": 2}]], "csv"))
    b'name,clicks\\r\\n"a,b",1\\r\\n,2\\r\\n'
    >>> b"".join(written([[{"name": "a"}], [{"name": "b"}]], "json"))
    b'[{"name":"a"},\\n{"name":"b"}]\\n'
    """
    return _csv(pages) if format == "csv" else _json(pages)


def _csv(pages: Iterable[Sequence[Row]]) -> Iterator[bytes]:
    begun = False
    for page in filter(None, pages):
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        if not begun:
            writer.writerow(page[0])
            begun = True
        writer.writerows(row.values() for row in page)
        yield text.getvalue().encode()


def _json(pages: Iterable[Sequence[Row]]) -> Iterator[bytes]:
    before = b"["
    for page in filter(None, pages):
        yield before + b",\n".join(orjson.dumps(row) for row in page)
        before = b",\n"
    yield b"]\n" if before != b"[" else b"[]\n"
