"""A click log: where it is, which column is which, and its impressions block by block."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from faircascade.data.base import DataError, Progress
from faircascade.data.log.faults import Faults, Invalid
from faircascade.data.log.impression_rows import ImpressionRows
from faircascade.data.log.impressions import Impressions
from faircascade.data.log.log_columns import LogColumns, find_log_columns
from faircascade.data.log.position_rows import PositionRows
from faircascade.data.log.row_kinds import RowsOf, find_row_kind
from faircascade.data.log.row_streams import RowStream, open_rows
from faircascade.data.log.slate_rows import MOST_POSITIONS, SlateRows
from faircascade.data.log.values import joined
from faircascade.data.log.vocabulary import Vocabulary
from faircascade.errors import ParameterError, check_choice
from faircascade.parameters import checked_arguments
from faircascade.types import Ids

TRACE = b"faircascade"
"""Key of the metadata of our own traces, whose positions begin with 0."""
PROPENSITY_ROLES = ("slate_propensity", "cascade_propensity", "item_position_propensity")
Unanswered = Literal["keep", "drop"]


@dataclass(frozen=True)
class LogSummary:
    """What a log had when it was read to its end."""

    impressions: int
    users: int
    items: int
    k: int
    """The longest slate."""
    clicks: int
    dropped: dict[str, int]
    """Impressions that were left out, by the rule that they break."""
    unanswered: int = 0
    """Impressions without feedback, left out or not."""


class Log:
    """Impressions with their clicks, read in blocks, so that a log of any size will do.

    >>> import pandas as pd
    >>> rows = {"user": ["u", "u", "v"], "item": ["a", "b", "b"], "position": [1, 2, 1]}
    >>> log = Log(pd.DataFrame(rows | {"click": [0, 1, 0]}))
    >>> log.read().clicks.tolist(), log.item_ids.tolist()
    ([[False, True], [False, False]], ['a', 'b'])
    """

    @checked_arguments
    def __init__(
        self,
        source: Any,
        *,
        impression: str | None = None,
        user: str | None = None,
        item: str | None = None,
        position: str | None = None,
        click: str | None = None,
        clicked_positions: str | None = None,
        clicked_items: str | None = None,
        shown: str | None = None,
        answered: str | None = None,
        time: str | None = None,
        context: str | None = None,
        slate_propensity: str | None = None,
        cascade_propensity: str | None = None,
        item_position_propensity: str | None = None,
        rows: RowsOf | None = None,
        first_position: int | None = None,
        invalid: Invalid = "refuse",
        unanswered: Unanswered = "keep",
        member: str | None = None,
        sep: str | None = None,
        encoding: str = "utf-8",
        name: str | None = None,
    ) -> None:
        """Open a log: Parquet, CSV, TSV or JSON lines (gzip too), a folder of such files, a zip
        file (`member` says which of its files), a DataFrame, or a trace of a simulation.

        The other parameters name columns; those with usual names are found, except for `context`,
        what a slate was shown for, such as a query. `rows` says whether
        a row is a position or a whole impression, `first_position` whether positions begin with 0
        or 1; both are found out if left out. A row that breaks a rule is refused;
        `invalid="drop"` leaves out its impression and counts it.

        Impressions that were not `answered` count as not clicked, which is wrong by their share at
        most; without them, a log of clients that report clicks alone would have nothing else.
        `unanswered="drop"` leaves them out.
        """
        check_choice("unanswered", unanswered, get_args(Unanswered))
        check_choice("invalid", invalid, get_args(Invalid))
        if rows is not None:
            check_choice("rows", rows, get_args(RowsOf))
        if first_position not in (None, 0, 1):
            raise ParameterError("first_position", "must be 0 or 1", first_position)
        self._source: RowStream = open_rows(source, member=member, sep=sep, encoding=encoding)
        self.columns = find_log_columns(
            self._source,
            LogColumns(
                impression=impression,
                user=user,
                item=item,
                position=position,
                click=click,
                clicked_positions=clicked_positions,
                clicked_items=clicked_items,
                shown=shown,
                answered=answered,
                time=time,
                context=context,
                slate_propensity=slate_propensity,
                cascade_propensity=cascade_propensity,
                item_position_propensity=item_position_propensity,
            ),
        )
        self.name = name or _name_of(source, self._source)
        self._rows, self._invalid, self._unanswered = rows, invalid, unanswered
        self._first_position, self._zero_allowed = first_position, False
        if first_position is None and TRACE in self._source.metadata:
            self._first_position = 0
        self._positions_told = self._first_position is not None
        self._users, self._items, self._contexts = Vocabulary(), Vocabulary(), Vocabulary()
        self.summary: LogSummary | None = None
        """What it had; None until it has been read to its end."""

    def __repr__(self) -> str:
        columns = ", ".join(f"{role}={name!r}" for role, name in self.columns.used())
        return f"Log({self.name!r}: {columns})"

    @property
    def user_ids(self) -> Ids:
        """Ids of the users that were read so far, by their codes."""
        return self._users.ids

    def user_ids_from(self, code: int) -> list[int | str]:
        """Return the ids of users from a code on, which may become text as the log goes on."""
        return self._users.ids_from(code)

    @property
    def item_ids(self) -> Ids:
        """Ids of the items that were read so far, by their codes."""
        return self._items.ids

    def item_ids_from(self, code: int) -> list[int | str]:
        """Return the ids of items from a code on, which may become text as the log goes on."""
        return self._items.ids_from(code)

    @property
    def context_ids(self) -> Ids:
        """Ids of the contexts that were read so far, by their codes."""
        return self._contexts.ids

    @property
    def has_contexts(self) -> bool:
        """True if a column says what slates were shown for."""
        return self.columns.context is not None

    @property
    def has_users(self) -> bool:
        """False if every impression counts as a user of its own."""
        return self.columns.user is not None

    @property
    def origin(self) -> dict[str, Any]:
        """What a trace says of the run it is of: version, policy and seed; else empty."""
        found = self._source.metadata.get(TRACE)
        return {} if found is None else dict(json.loads(found))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about how the log is read, and once it was, how it was."""
        notes = []
        if not self.has_users:
            notes.append(
                "no column looks like users; if none is, every impression counts as one of its own"
            )
        if self.row_is == "positions" and self.columns.impression is None:
            how = (
                "an impression begins where the user changes or the position does not grow"
                if self.has_users and self.columns.position is not None
                else "every row counts as an impression of its own"
            )
            notes.append(f"no column looks like ids of impressions; if none is, {how}")
        if self._first_position == 0 and not self._positions_told:
            notes.append("there is a position 0: positions are taken to begin with it")
        return tuple(notes)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What a reader should know about impressions that were left out, once it was read."""
        dropped = {} if self.summary is None else self.summary.dropped
        return tuple(
            f"{count:,} impression{' was' if count == 1 else 's were'} left out: {rule}"
            for rule, count in dropped.items()
        )

    @cached_property
    def row_is(self) -> RowsOf:
        """What a row is: a position, or a whole impression."""
        if self._rows is not None:
            return self._rows
        return find_row_kind(self._source, self.columns)

    def blocks(self, progress: Progress | None = None) -> Iterator[Impressions]:
        """Yield all impressions in blocks that fit into memory.

        Codes are the same each time; `summary` is set at the end.
        """
        faults = Faults(self._invalid, self._source.where)
        reader = self._reader(faults)
        impressions = clicks = k = unanswered = 0
        for block in self._text_checked(self._parts(reader, progress)):
            if block.answered is not None:
                unanswered += int((~block.answered).sum())
                if self._unanswered == "drop":
                    block = block.take(block.answered)
            if not len(block):
                continue
            if not self.has_users:
                own = np.arange(impressions, impressions + len(block), dtype=np.int32)
                block = replace(block, users=own)
            yield replace(block, first=impressions)
            impressions += len(block)
            clicks += int(block.clicks.sum())
            k = max(k, block.k)
        if not impressions:
            raise DataError(f"{self._source.label}: there are no impressions in it{_why(faults)}")
        self.summary = LogSummary(
            impressions=impressions,
            users=len(self._users) if self.has_users else impressions,
            items=len(self._items),
            k=k,
            clicks=clicks,
            dropped=dict(faults.dropped),
            unanswered=unanswered,
        )

    def read(self, progress: Progress | None = None) -> Impressions:
        """Return all impressions at once."""
        return Impressions.join(list(self.blocks(progress)))

    def _reader(self, faults: Faults) -> SlateRows:
        kind = ImpressionRows if self.row_is == "impressions" else PositionRows
        vocabularies = (self._users, self._items, self._contexts)
        positions = (self._first_position, self._zero_allowed)
        return kind(self.columns, *vocabularies, faults, *positions)

    def with_propensities(self, **columns: str | None) -> Log:
        """Return the same log with the propensities of another policy, by their columns.

        `slate=`, `cascade=` and `item_position=` name columns; a value may be 0 here.
        """
        named = {f"{kind}_propensity": name for kind, name in columns.items()}
        blank = dict.fromkeys(PROPENSITY_ROLES)
        others = dict(replace(self.columns, **blank).used())
        told = {role: name for role, name in named.items() if name is not None}
        other = copy(self)
        other.columns = replace(
            find_log_columns(self._source, LogColumns(**others, **told)), **{**blank, **told}
        )
        other._zero_allowed = True
        return other

    def _text_checked(self, blocks: Iterator[Impressions]) -> Iterator[Impressions]:
        """Yield the blocks; text in Parquet files is not looked at before it is used."""
        try:
            yield from blocks
        except UnicodeDecodeError as error:
            raise DataError(f"{self._source.label}: there is text that is not UTF-8") from error

    def _parts(self, reader: SlateRows, progress: Progress | None) -> Iterator[Impressions]:
        """Yield impressions; one that a block cuts in two is read with the next block."""
        import pyarrow as pa

        wanted = list(dict.fromkeys(name for _, name in self.columns.used()))
        pending, row = None, 0
        for block in self._source.blocks(wanted, progress):
            if not block.num_rows:
                continue
            if pending is not None:
                try:
                    block = joined(pending, block)
                except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                    place = self._source.where(row + pending.num_rows)
                    raise DataError(f"{place}: a column changes its type ({error})") from None
            end = reader.whole(block)
            if not end and block.num_rows > MOST_POSITIONS and self._invalid == "refuse":
                end = block.num_rows  # an impression that breaks a rule, whatever comes
            if end:
                yield from reader.impressions(block.slice(0, end), row)
                row += end
            pending = block.slice(end) if end < block.num_rows else None
        if pending is not None:
            yield from reader.impressions(pending, row)
        self._first_position = reader.first_position


def as_log(source: Any) -> Log:
    """Return a log as it is, or open one."""
    return source if isinstance(source, Log) else Log(source)


def _name_of(source: Any, rows: RowStream) -> str:
    return Path(source).name if isinstance(source, str | Path) else rows.label


def _why(faults: Faults) -> str:
    dropped: Counter[str] = faults.dropped
    if not dropped:
        return ""
    rule, count = dropped.most_common(1)[0]
    return f" that could be used: {count:,} were left out, as {rule}"
