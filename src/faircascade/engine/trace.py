"""A full trace, on request: who saw what, as a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.environment import Environment, Response
from faircascade.storage import replacing
from faircascade.types import Ids, Ints


class TraceRows(NamedTuple):
    """The lists of one round of one shard."""

    round: int
    users: Ids  # (n,)
    lists: NDArray[np.int32]  # (n, K)
    clicked: NDArray[np.int32]  # (n,)
    examined: NDArray[np.int32]  # (n,)

    @classmethod
    def of(cls, round: int, users: Ids, lists: Ints, response: Response) -> TraceRows:
        small = (a.astype(np.int32) for a in (lists, response.clicked, response.examined))
        return cls(round, users, *small)


class TraceWriter:
    """Writes one row for each listed item, in the order of rounds, users and positions.

    A checkpoint's rows are one row group. Without a path nothing is written.
    """

    def __init__(self, path: Path | None, env: Environment) -> None:
        self.path = path
        self.env = env
        self._stack = ExitStack()
        self._writer: Any = None

    def __enter__(self) -> TraceWriter:
        if self.path is not None:
            import pyarrow.parquet as pq

            temporary = self._stack.enter_context(replacing(self.path))
            try:
                writer = pq.ParquetWriter(temporary, self._schema)
            except OSError as error:
                raise ValueError(f"trace: {self.path} cannot be written ({error})") from None
            self._writer = self._stack.enter_context(writer)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    @cached_property
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

    def write(self, shards: Sequence[Sequence[TraceRows]]) -> None:
        """Append the rounds of one interval; the shards are in the order of their users."""
        some = (part for shard in shards for part in shard if len(part.lists))
        parts = sorted(some, key=lambda part: part.round)
        if self._writer is None or not parts:
            return
        import pyarrow as pa

        lists = np.concatenate([part.lists for part in parts])  # (rows, K)
        rows, k = lists.shape
        position = np.broadcast_to(np.arange(1, k + 1, dtype=np.int16), (rows, k))
        rounds = np.repeat([part.round for part in parts], [len(part.lists) for part in parts])
        columns = [
            np.repeat(rounds, k),
            np.repeat(np.concatenate([part.users for part in parts]), k),
            position.ravel(),
            self.env.items.ids[lists].ravel(),
            (position <= np.concatenate([part.examined for part in parts])[:, None]).ravel(),
            (position == np.concatenate([part.clicked for part in parts])[:, None]).ravel(),
        ]
        arrays = [
            pa.array(column, type=field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.table(arrays, schema=self._schema), row_group_size=rows * k)
