"""Columns of a user's table: which is which by name, and what their values must be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, MissingValueError
from faircascade.data.id_encoding import UNKNOWN, Coded, code_dictionary, code_integers
from faircascade.data.tables import Table
from faircascade.registry import suggest

USUAL_NAMES = {
    "user": (
        *("user_id", "user", "uid", "userId", "reviewerID", "reviewer_id", "customer_id"),
        *("visitorid", "visitor", "session_id", "member_id", "account_id", "profile_id"),
        *("listener_id", "reader_id", "customer", "username", "msno"),
    ),
    "item": (
        *("item_id", "item", "iid", "movieId", "movie_id", "song_id", "track_id", "product_id"),
        *("asin", "parent_asin", "isbn", "book_id", "artist_id", "business_id", "article_id"),
        *("news_id", "video_id", "game_id", "recipe_id", "sku", "movie", "artist", "song", "track"),
        *("product", "book"),
    ),
    "rating": (
        *("rating", "score", "stars", "overall", "ratings", "book_rating", "feedback", "grade"),
        *("preference", "label", "liked", "like", "clicked", "click"),
    ),
    "counts": (
        *("plays", "playcount", "count", "counts", "views", "weight", "listen_count", "listens"),
        *("clicks", "purchases", "quantity", "frequency", "n_plays", "n_clicks"),
    ),
}
"""Names by which a column is found, the best first, whatever their case and punctuation."""

COLUMNS_SHOWN = 10
"""Columns that a message names at most; a file may have thousands."""
LONGEST_NAME = 40
"""Characters of a column's name that an error message repeats."""


def find_column(table: Table, option: str, given: str | None, usual: tuple[str, ...] = ()) -> str:
    """Return the name of the column that `option` names, or that has one of the usual names."""
    there = f"the columns are {listed(table.names)}"
    if given is not None:
        by_plain = _by_plain_name(table)
        found = given if given in table.names else by_plain.get(plain_name(given))
        if found is None:
            raise DataError(
                f"{table.label}: there is no column {given!r} ({option}=)"
                f"{suggest(given, [str(name) for name in table.names])}; {there}"
            )
        return _once(table, found)
    found = usual_column(table, usual)
    if found is None:
        raise DataError(
            f"{table.label}: no column looks like the {option} ({', '.join(usual[:4])}, ...); "
            f"{there}; name it with {option}={table.hint}"
        )
    return found


def usual_column(table: Table, usual: Sequence[str]) -> str | None:
    """Return the column that has one of the usual names, the best first; None if there is none."""
    by_plain = _by_plain_name(table)
    found = next((by_plain[name] for name in map(plain_name, usual) if name in by_plain), None)
    return None if found is None else _once(table, found)


def other_id_column(table: Table, user: str) -> str | None:
    """Return the only column beside the user's whose name ends in "id": `Anime_ID`."""
    ids = [
        name for name in table.names if name != user and plain_name(name).endswith(("id", "ids"))
    ]
    return ids[0] if len(ids) == 1 else None


def listed(names: Sequence[str]) -> str:
    """Return names of columns for a message, the first of them if there are many."""
    shown = [repr(str(name)[:LONGEST_NAME]) for name in names[:COLUMNS_SHOWN]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _by_plain_name(table: Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in table.names:
        found.setdefault(plain_name(name), name)
    return found


def _once(table: Table, name: str) -> str:
    if table.names.count(name) > 1:
        raise DataError(f"{table.label}: column {name!r} is there {table.names.count(name)} times")
    return name


def plain_name(name: object) -> str:
    """Drop RecBole's type suffix, case and punctuation: `User_ID:token` is `userid`."""
    return re.sub(r"[\W_]", "", re.sub(r":\w+$", "", str(name))).lower()


def id_column(column: Any, table: Table, name: str) -> Coded:
    """Code a column of ids: integers stay integers, everything else is text."""
    import pyarrow as pa

    column = _one_array(column)
    _refuse_missing(column, table, name)
    if pa.types.is_integer(column.type):
        return code_integers(_int64(column, table, name))
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
        if not whole.all():
            row = int(np.argmin(whole))
            raise DataError(
                f"{table.where(row)}: column {name!r} must be a whole number or text, "
                f"got {values[row]}"
            )
        return code_integers(values.astype(np.int64))
    if not pa.types.is_dictionary(column.type):
        if not _is_text(column.type):
            raise DataError(
                f"{table.label}: column {name!r} must be whole numbers or text, "
                f"got the type {column.type}"
            )
        column = column.dictionary_encode()
    return code_dictionary(
        _id_values(column.dictionary, table, name), column.indices.to_numpy(zero_copy_only=False)
    )


def _id_values(dictionary: Any, table: Table, name: str) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_integer(dictionary.type):
        return _int64(dictionary.fill_null(0), table, name)  # null is in no row
    return np.array(dictionary.cast(pa.string()).to_pylist() or [], dtype=np.str_)


def _int64(column: Any, table: Table, name: str) -> NDArray[np.int64]:
    import pyarrow as pa

    try:
        values: NDArray[np.int64] = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        raise DataError(f"{table.label}: column {name!r} has ids above 2^63") from None
    return values


def number_column(
    column: Any, table: Table, name: str, *, at_least: float | None = None
) -> NDArray[np.float64]:
    """Return a column of finite numbers, (n,)."""
    import pyarrow as pa

    column = _one_array(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    _refuse_missing(column, table, name)
    if _is_text(column.type):
        values = _parsed(column.to_pylist(), table, name)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    elif pa.types.is_decimal(column.type) or pa.types.is_boolean(column.type):
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    else:
        raise DataError(
            f"{table.label}: column {name!r} must be numbers, got the type {column.type}"
        )
    good = np.isfinite(values)
    rule = "a finite number"
    if at_least is not None:
        good &= values >= at_least
        rule += f" >= {at_least:g}"
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(
            f"{table.where(row)}: column {name!r} must be {rule}, got {float(values[row])}"
        )
    return values


def _parsed(texts: list[str], table: Table, name: str) -> NDArray[np.float64]:
    values = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            values[row] = float(text.replace(",", ".", 1) if text.count(",") == 1 else text)
        except ValueError:
            raise DataError(
                f"{table.where(row)}: column {name!r} must be a number, got {text[:40]!r}"
            ) from None
    return values


def text_values(column: Any, rows: NDArray[np.intp]) -> NDArray[np.str_]:
    """Return the text at the given rows, lists joined by `|`; row -1 and nothing are unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _one_array(column)
    chosen = column.take(pa.array(np.where(rows < 0, 0, rows)))
    if pa.types.is_dictionary(chosen.type):
        chosen = chosen.dictionary_decode()
    if pa.types.is_list(chosen.type) or pa.types.is_large_list(chosen.type):
        chosen = pc.binary_join(chosen.cast(pa.list_(pa.string())), "|")
    texts = [(text or "").strip() for text in chosen.cast(pa.string()).to_pylist()]
    known = [
        row >= 0 and text.lower() not in ("", "nan") for row, text in zip(rows, texts, strict=True)
    ]
    return np.array([t if k else UNKNOWN for t, k in zip(texts, known, strict=True)], dtype=np.str_)


def _one_array(column: Any) -> Any:
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        return whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    return whole


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def missing(column: Any) -> Any:
    """Tell of each value whether it is not there: null, NaN or blank text; an Arrow array."""
    import pyarrow.compute as pc

    gone = pc.is_null(column, nan_is_null=True)
    if _is_text(column.type):
        gone = pc.or_(gone, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True))
    return gone


def _refuse_missing(column: Any, table: Table, name: str) -> None:
    import pyarrow.compute as pc

    gone = missing(column)
    if pc.any(gone).as_py():
        row = pc.index(gone, True).as_py()
        raise MissingValueError(f"{table.where(row)}: column {name!r} must not be empty or NaN")
