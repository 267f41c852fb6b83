"""Which column of a log is which: by name, or as told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from faircascade.data.base import DataError
from faircascade.data.columns import USUAL_NAMES, listed, plain_name
from faircascade.data.log.row_streams import RowStream
from faircascade.registry import suggest


@dataclass(frozen=True, kw_only=True)
class LogColumns:
    """Names of the columns; None where there is none, or where it is to be found by its name."""

    impression: str | None = None
    """What the rows of one impression have in common, and of no other."""
    user: str | None = None
    item: str | None = None
    """The item at a position (one row a position), or all items from the top (one row for all)."""
    position: str | None = None
    click: str | None = None
    """1 or 0: for the row, or for each of its items."""
    clicked_positions: str | None = None
    """The positions that were clicked, one or several."""
    clicked_items: str | None = None
    """The items that were clicked, one or several."""
    shown: str | None = None
    """How many positions were on the screen."""
    answered: str | None = None
    """1 or 0: whether feedback came at all."""
    time: str | None = None
    context: str | None = None
    """What it was shown for, such as a query; never found by its name."""
    slate_propensity: str | None = None
    cascade_propensity: str | None = None
    item_position_propensity: str | None = None

    def used(self) -> Iterator[tuple[str, str]]:
        """Yield role and column of all that are there."""
        for each in fields(self):
            column = getattr(self, each.name)
            if column is not None:
                yield each.name, column


USUAL: dict[str, tuple[str, ...]] = {
    "impression": (
        *("impression_id", "impression", "slate_id", "request_id", "page_view_id", "pageview_id"),
        *("serp_id", "search_id", "list_id", "recommendation_id", "request"),
    ),
    "user": USUAL_NAMES["user"],
    "item": (
        *USUAL_NAMES["item"],
        *("items", "item_ids", "slate", "slate_items", "shown_items", "recommendations"),
        *("recommended_items", "ranking", "documents", "docs", "doc_id", "document_id", "url"),
        *("url_id", "ad_id", "playlist_id"),
    ),
    "position": ("position", "pos", "rank", "slot", "place", "item_position"),
    "click": ("click", "clicked", "clicks", "is_click", "is_clicked", "reward", "label"),
    "clicked_positions": ("clicked_positions", "clicked_position", "click_positions", "click_pos"),
    "clicked_items": ("clicked_items", "clicked_item", "clicked_item_id", "clicked_ids"),
    "shown": ("shown", "n_shown", "shown_positions", "displayed"),
    "answered": ("answered", "is_answered"),
    "time": (
        *("time", "timestamp", "ts", "datetime", "event_time", "created_at", "date", "unixtime"),
        *("round",),
    ),
    "slate_propensity": ("pscore", "slate_propensity", "pscore_slate"),
    "cascade_propensity": ("pscore_cascade", "cascade_propensity"),
    "item_position_propensity": (
        *("pscore_item_position", "item_position_propensity", "propensity_score", "propensity"),
        *("pscore_item_position_estimate",),
    ),
}
"""Names by which a column is found, the best first, whatever their case and punctuation."""

CLICKS = ("click", "clicked_positions", "clicked_items")
"""Three ways to say what was clicked; one is enough."""


def find_log_columns(rows: RowStream, told: LogColumns) -> LogColumns:
    """Complete the columns that were told by those that have usual names."""
    by_name = {plain_name(name): name for name in reversed(rows.names)}
    given = dict(told.used())
    for role, name in given.items():
        found = name if name in rows.names else by_name.get(plain_name(name))
        if found is None:
            close = suggest(name, rows.names)
            raise DataError(
                f"{rows.label}: there is no column {name!r} ({role}=){close}; "
                f"the columns are {listed(rows.names)}"
            )
        given[role] = found
    clicks_told = any(role in given for role in CLICKS)
    taken = set(given.values())
    for role, usual in USUAL.items():
        if role in given or (role in CLICKS and clicks_told):
            continue
        names = (by_name.get(plain_name(name)) for name in usual)
        column = next((name for name in names if name is not None and name not in taken), None)
        if column is not None:
            given[role] = column
            taken.add(column)
    _require(rows, given)
    _check_once(rows, given.values())
    return LogColumns(**given)


def _check_once(rows: RowStream, columns: Iterable[str]) -> None:
    """Refuse a column of which there are several."""
    for name in columns:
        if (times := rows.names.count(name)) > 1:
            raise DataError(f"{rows.label}: column {name!r} is there {times} times")


def _require(rows: RowStream, found: dict[str, str]) -> None:
    """Refuse a log without items or clicks."""
    there = f"the columns are {listed(rows.names)}"
    for roles, option in ((("item",), "item"), (CLICKS, "click")):
        if not any(role in found for role in roles):
            usual = ", ".join(USUAL[roles[0]][:4])
            raise DataError(
                f"{rows.label}: no column looks like the {option} ({usual}, ...); {there}; "
                f"name it with {option}="
            )
