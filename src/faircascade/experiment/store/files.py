"""Files of results: each is written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faircascade.storage import replacing, to_disk


def write_json(path: Path, value: Any) -> None:
    """Write one JSON document, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        to_disk(temporary)


def write_parquet(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns as one table, whole or not at all."""
    import pyarrow as pa

    write_table(path, pa.table(dict(columns)))


def write_table(path: Path, table: Any) -> None:
    """Write a table (pyarrow), whole or not at all."""
    import pyarrow.parquet as pq

    with replacing(path) as temporary:
        pq.write_table(table, temporary)
        to_disk(temporary)
