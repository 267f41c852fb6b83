"""A full trace, on request: who saw what, as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from faircascade.environment import Environment
from faircascade.storage import replacing
from faircascade.types import Feedback, Ids, Ints


class TraceRows(NamedTuple):
    """The lists of one round of one shard."""

    round: int
    users: Ids  # (n,)
    lists: Ints  # (n, K)
    feedback: Feedback


class TraceWriter:
    """Writes one row for each listed item, interval by interval; does nothing without a path."""

    def __init__(self, path: Path | None, env: Environment) -> None:
        self.path = path
        self.env = env
        self._stack = ExitStack()
        self._writer: Any = None

    def __enter__(self) -> TraceWriter:
        if self.path is not None:
            import pyarrow.parquet as pq

            temporary = self._stack.enter_context(replacing(self.path))
            self._writer = self._stack.enter_context(pq.ParquetWriter(temporary, self._schema()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def _schema(self) -> Any:
        import pyarrow as pa

        return pa.schema(
            [
                ("round", pa.int32()),
                ("user_id", pa.array(self.env.users.ids[:1]).type),
                ("position", pa.int16()),
                ("item_id", pa.array(self.env.items.ids[:1]).type),
                ("examined", pa.bool_()),
                ("clicked", pa.bool_()),
            ]
        )

    def write(self, parts: Iterable[TraceRows]) -> None:
        """Append the rounds of one shard."""
        if self._writer is None:
            return
        import pyarrow as pa

        for part in parts:
            n, k = part.lists.shape
            position = np.broadcast_to(np.arange(1, k + 1), (n, k))
            columns = [
                np.full(n * k, part.round, dtype=np.int32),
                np.repeat(part.users, k),
                position.ravel().astype(np.int16),
                self.env.items.ids[part.lists].ravel(),
                (position <= part.feedback.examined[:, None]).ravel(),
                (position == part.feedback.clicked[:, None]).ravel(),
            ]
            arrays = [
                pa.array(column, type=field.type)
                for column, field in zip(columns, self._schema(), strict=True)
            ]
            self._writer.write_batch(pa.record_batch(arrays, schema=self._schema()))
