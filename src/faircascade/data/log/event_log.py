"""The event log: one row an impression, written when its outcome is known.

`docs/reference/event-log.md` describes the fields; `Log` reads such a log without being told any
column.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from faircascade.errors import ParameterError
from faircascade.types import Slate, id_text, whole

PER_POSITION = ("scores", "cascade_propensity", "item_position_propensity")
"""Fields with a number for each item."""


@dataclass(frozen=True, kw_only=True)
class LoggedImpression:
    """A row of the event log; what breaks a rule of the schema is refused.

    >>> row = LoggedImpression(
    ...     impression="1", time=1.7e9, user="ann", items=["a", "b"], clicked_positions=[2],
    ...     policy="LinUCB",
    ... )
    >>> row.plain()["clicked_positions"], row.plain()["shown"]
    ([2], 2)
    """

    impression: str
    """Id of the slate."""
    time: float | str
    """When it was handed out: seconds since 1970, or ISO 8601."""
    user: str
    items: Sequence[str]
    """From the top."""
    clicked_positions: Sequence[int] = ()
    """From 1 on; empty if nothing was clicked."""
    shown: int | None = None
    """How many positions were on the screen, from the top; None is all of them."""
    answered: bool = True
    """False if no feedback came while the slate was open."""
    policy: str
    """Label of the policy that chose it."""
    policy_version: str | None = None
    model_version: str | None = None
    scores: Sequence[float] | None = None
    slate_propensity: float | None = None
    """Probability of the slate as a whole."""
    cascade_propensity: Sequence[float] | None = None
    """Of the items down to each position, in this order."""
    item_position_propensity: Sequence[float] | None = None
    """Of each item at its position."""
    explored: bool = False
    """Whether logged randomisation drew a position of it."""
    context: Mapping[str, Any] | None = None
    """Anything else, as a JSON object."""

    def __post_init__(self) -> None:
        for name in ("impression", "user"):
            object.__setattr__(self, name, _id(getattr(self, name), name))
        if isinstance(self.items, str | bytes) or not len(self.items):
            raise ParameterError("items", "must be a list of at least one item", self.items)
        items = tuple(_id(item, "items") for item in self.items)
        if len(set(items)) < len(items):
            raise ParameterError("items", "must name each item once", list(items))
        object.__setattr__(self, "items", items)
        _check_time(self.time)
        self._check_answer(len(items))
        self._check_numbers(len(items))
        if self.context is not None and not isinstance(self.context, Mapping):
            raise ParameterError("context", "must be an object", self.context)

    def _check_answer(self, size: int) -> None:
        shown = size if self.shown is None else whole(self.shown, "shown")
        if not 0 <= shown <= size:
            raise ParameterError("shown", f"must be between 0 and {size}", shown)
        clicked = tuple(sorted(whole(p, "clicked_positions") for p in self.clicked_positions))
        if len(set(clicked)) < len(clicked):
            raise ParameterError("clicked_positions", "must name each once", list(clicked))
        if clicked and not (clicked[0] >= 1 and clicked[-1] <= shown):
            rule = f"must be between 1 and {shown}, the positions shown"
            raise ParameterError("clicked_positions", rule, list(clicked))
        if clicked and not self.answered:
            raise ParameterError("answered", "must be true where there are clicks", False)
        object.__setattr__(self, "shown", shown)
        object.__setattr__(self, "clicked_positions", clicked)

    def _check_numbers(self, size: int) -> None:
        for name in PER_POSITION:
            given = getattr(self, name)
            if given is None:
                continue
            numbers = tuple(float(number) for number in given)
            if len(numbers) != size:
                raise ParameterError(name, f"must have {size} numbers, one for each item", given)
            _check_range(name, numbers, propensity=name != "scores")
            object.__setattr__(self, name, numbers)
        if self.slate_propensity is not None:
            chance = float(self.slate_propensity)
            _check_range("slate_propensity", (chance,), propensity=True)
            object.__setattr__(self, "slate_propensity", chance)

    @classmethod
    def of(
        cls,
        slate: Slate,
        *,
        time: float | str,
        policy: str,
        clicked_positions: Sequence[int] = (),
        shown: int | None = None,
        answered: bool = True,
        **more: Any,
    ) -> LoggedImpression:
        """Return the row of a slate that a `Ranker` recommended; `more` are further fields."""
        known = slate.propensities
        return cls(
            impression=slate.slate_id,
            time=time,
            user=slate.user,
            items=slate.items,
            clicked_positions=clicked_positions,
            shown=shown,
            answered=answered,
            policy=policy,
            scores=slate.scores,
            slate_propensity=None if known is None else known.slate,
            cascade_propensity=None if known is None else known.cascade,
            item_position_propensity=None if known is None else known.item_position,
            explored=slate.explored,
            **more,
        )

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON has it; optional fields that are not there are left out."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in found.items()}


class EventLogWriter:
    """Appends rows to a file of JSON lines.

    A row is written as a whole, when `write` returns; rotation and fsync are the caller's business.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: IO[bytes] = self.path.open("ab", buffering=0)

    def write(self, row: LoggedImpression) -> None:
        """Append a row."""
        line = json.dumps(row.plain(), ensure_ascii=False, allow_nan=False) + "\n"
        self._file.write(line.encode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> EventLogWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def event_schema(*, text_time: bool = False) -> Any:
    """Return the columns of rows as an Arrow schema."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    kinds = {
        **dict.fromkeys(("impression", "user", "policy"), text),
        "time": text if text_time else number,
        "items": pa.list_(text),
        "clicked_positions": pa.list_(pa.int64()),
        "shown": pa.int64(),
        "answered": pa.bool_(),
        **dict.fromkeys(("policy_version", "model_version", "context"), text),
        "slate_propensity": number,
        **dict.fromkeys(PER_POSITION, pa.list_(number)),
        "explored": pa.bool_(),
    }
    return pa.schema(list(kinds.items()))


def event_table(rows: Iterable[LoggedImpression]) -> Any:
    """Return rows as an Arrow table, to be written as Parquet; the context is text there."""
    import pyarrow as pa

    plain = [row.plain() for row in rows]
    for each in plain:
        if "context" in each:
            each["context"] = json.dumps(each["context"])
    text_time = any(isinstance(each["time"], str) for each in plain)
    if text_time:
        for each in plain:
            each["time"] = str(each["time"])
    return pa.Table.from_pylist(plain, schema=event_schema(text_time=text_time))


def _id(given: object, name: str) -> str:
    text = id_text(given, name)
    if not text.strip():
        raise ParameterError(name, "must not be empty", given)
    return text


def _check_time(given: Any) -> None:
    try:
        if isinstance(given, str):
            datetime.fromisoformat(given)
        elif isinstance(given, bool) or not math.isfinite(given):
            raise ValueError
    except (TypeError, ValueError):
        rule = "must be seconds since 1970, or as in 2026-11-18T12:00:00Z"
        raise ParameterError("time", rule, given) from None


def _check_range(name: str, numbers: Sequence[float], *, propensity: bool) -> None:
    for number in numbers:
        if propensity and not 0 < number <= 1:
            raise ParameterError(name, "must be above 0 and at most 1", number)
        if not math.isfinite(number):
            raise ParameterError(name, "must be a number", number)
