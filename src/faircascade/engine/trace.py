"""A full trace, on request: who saw what, and how likely that was, as a Parquet file.

Columns are named as in the Open Bandit Pipeline, whose slate estimators read them directly:
positions start at 0 here, and whole numbers have 64 bits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.engine.job import Job
from faircascade.engine.propensities import Rating
from faircascade.engine.result import plain_spec
from faircascade.storage import replacing
from faircascade.types import Bools, Floats, Ints
from faircascade.version import __version__

METADATA = b"faircascade"
"""Key of the schema's metadata that describes the run, as JSON."""
ESTIMATE = "pscore_item_position_estimate"


_UNRATED = Rating()


class TraceRows(NamedTuple):
    """The slates of one round of some users."""

    round: int
    users: NDArray[np.int32]  # rows of the environment, (n,)
    slates: NDArray[np.int32]  # (n, K)
    clicks: Bools  # (n, K)
    rating: Rating = _UNRATED

    @classmethod
    def of(
        cls, round: int, users: Ints, slates: Ints, clicks: Bools, rating: Rating = _UNRATED
    ) -> TraceRows:
        return cls(
            round=round,
            users=users.astype(np.int32),
            slates=slates.astype(np.int32),
            clicks=clicks,
            rating=rating,
        )


class TraceWriter:
    """Writes one row per item shown, in the order of rounds, users and positions.

    A checkpoint's rows are one row group. Without a path nothing is written.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._stack = ExitStack()
        self._writer: Any = None

    def __enter__(self) -> TraceWriter:
        if self.job.trace is not None:
            self._writer = self._stack.enter_context(self._open(self.job.trace))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def _open(self, path: Path) -> Any:
        import pyarrow.parquet as pq

        temporary = self._stack.enter_context(replacing(path))
        try:
            return pq.ParquetWriter(temporary, self._schema)
        except OSError as error:
            raise ValueError(f"trace: {path} cannot be written ({error})") from None

    @cached_property
    def _schema(self) -> Any:
        import pyarrow as pa

        env = self.job.env
        always = {
            "slate_id": pa.int64(),
            "round": pa.int32(),
            "user_id": pa.array(env.users.ids[:1]).type,
            "position": pa.int64(),
            "action": pa.int64(),
            "item_id": pa.array(env.items.ids[:1]).type,
            "seen": pa.float64(),
            "reward": pa.int8(),
        }
        propensities = ["pscore", "pscore_cascade", "pscore_item_position"]
        if self.job.propensity_draws:
            propensities.append(ESTIMATE)
        return pa.schema(
            [pa.field(name, kind, nullable=False) for name, kind in always.items()]
            + [pa.field(name, pa.float64()) for name in propensities],
            metadata={METADATA: json.dumps(self._origin())},
        )

    def _origin(self) -> dict[str, Any]:
        """Return what run the rows are of, as plain data."""
        origin = {
            "version": __version__,
            "policy": plain_spec(self.job.policy),
            "seed": self.job.seed,
        }
        if self.job.propensity_draws:
            origin["propensity_draws"] = self.job.propensity_draws
        return origin

    def write(self, shards: Sequence[Sequence[TraceRows]]) -> None:
        """Append the rounds of one interval; the shards are in the order of their users."""
        some = (part for shard in shards for part in shard if len(part.slates))
        parts = sorted(some, key=lambda part: part.round)
        if self._writer is None or not parts:
            return
        import pyarrow as pa

        columns = self._columns(parts)
        arrays = [
            pa.array(columns[field.name], type=field.type, from_pandas=field.nullable)
            for field in self._schema
        ]
        table = pa.table(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=table.num_rows)

    def _columns(self, parts: Sequence[TraceRows]) -> dict[str, NDArray[Any]]:
        """Return what the schema asks for, and perhaps more; NaN stands for a missing number."""
        env = self.job.env
        slates = np.concatenate([part.slates for part in parts])  # (rows, K)
        users = np.concatenate([part.users for part in parts])  # (rows,)
        rounds = np.repeat([part.round for part in parts], [len(part.slates) for part in parts])
        clicks = np.concatenate([part.clicks for part in parts])  # (rows, K)
        shown = np.full(len(slates), slates.shape[1])
        position = np.broadcast_to(np.arange(slates.shape[1]), slates.shape)
        cascade = _joined(parts, [part.rating.cascade for part in parts])
        by_row = {
            "slate_id": (rounds - 1) * len(env.users) + users,
            "round": rounds,
            "user_id": env.users.ids[users],
        }
        by_item = {
            "position": position,
            "action": slates,
            "item_id": env.items.ids[slates],
            "seen": self.job.policy.seen(clicks, shown),
            "reward": clicks.astype(np.int8),
            "pscore": np.broadcast_to(cascade[:, -1:], slates.shape),
            "pscore_cascade": cascade,
            "pscore_item_position": _joined(parts, [p.rating.item_position for p in parts]),
            ESTIMATE: _joined(parts, [p.rating.estimate for p in parts]),
        }
        return {name: np.repeat(column, slates.shape[1]) for name, column in by_row.items()} | {
            name: column.ravel() for name, column in by_item.items()
        }


def _joined(parts: Sequence[TraceRows], propensities: Sequence[Floats | None]) -> Floats:
    """Return the propensities of all parts, (rows, K); NaN for none.

    One too small for a float counts as none: what was shown was not impossible.
    """
    every = [
        np.full(part.slates.shape, np.nan) if found is None else found
        for part, found in zip(parts, propensities, strict=True)
    ]
    joined = np.concatenate(every)
    return np.where(joined >= np.finfo(np.float64).tiny, joined, np.nan)
