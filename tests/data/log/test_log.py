"""Logs are read whatever their layout, block by block, and every mistake is one line."""

from __future__ import annotations

import gzip
import json
import zipfile
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.data.log import (
    Impressions,
    Log,
    impression_ids,
    impression_rows,
    row_streams,
    slate_rows,
)

SLATES = [
    ("u", ["a", "b", "c"], [2]),
    ("v", ["b", "a"], []),
    ("u", ["d"], [1]),
    ("w", ["c", "d", "a"], [1, 3]),
]
"""User, items, clicked positions."""


def by_position(slates: Any = SLATES) -> dict[str, list[Any]]:
    """Return the same slates with one row a position."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("slate_id", "user", "item", "position", "click")
    }
    for number, (user, items, clicked) in enumerate(slates):
        for position, item in enumerate(items, 1):
            row = (number, user, item, position, int(position in clicked))
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


def objects(slates: Any = SLATES) -> list[dict[str, Any]]:
    """Return the same slates with one row an impression."""
    return [
        {"user": user, "items": items, "clicked_positions": clicked}
        for user, items, clicked in slates
    ]


def plain(log: Log) -> list[tuple[str, list[str], list[int]]]:
    """Return the slates of a log in the form of SLATES."""
    found, users, items = log.read(), log.user_ids, log.item_ids
    return [
        (
            str(users[found.users[row]]),
            [str(items[code]) for code in found.items[row] if code >= 0],
            (np.flatnonzero(found.clicks[row]) + 1).tolist(),
        )
        for row in range(len(found))
    ]


def written(folder: Path, kind: str) -> Any:
    """Write SLATES and return where they are."""
    frame = pd.DataFrame(by_position())
    lines = "".join(json.dumps(each) + "\n" for each in objects())
    if kind == "parquet":
        frame.to_parquet(folder / "log.parquet")
        return folder / "log.parquet"
    if kind == "lists":
        pq.write_table(pa.Table.from_pylist(objects()), folder / "lists.parquet")
        return folder / "lists.parquet"
    if kind == "csv":
        frame.to_csv(folder / "log.csv", index=False)
        return folder / "log.csv"
    if kind == "csv.gz":
        frame.to_csv(folder / "log.csv.gz", index=False)
        return folder / "log.csv.gz"
    if kind == "json":
        (folder / "log.jsonl").write_text(lines)
        return folder / "log.jsonl"
    if kind == "json.gz":
        (folder / "log.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        return folder / "log.jsonl.gz"
    if kind == "text lists":
        rows = [f"{u},{'|'.join(i)},{'|'.join(map(str, c))}" for u, i, c in SLATES]
        (folder / "lists.csv").write_text("\n".join(["user,items,clicked_positions", *rows]))
        return folder / "lists.csv"
    if kind == "zip":
        with zipfile.ZipFile(folder / "log.zip", "w") as archive:
            archive.writestr("log.csv", frame.to_csv(index=False))
        return folder / "log.zip"
    return pl.DataFrame(by_position()) if kind == "polars" else frame


KINDS = (
    *("parquet", "lists", "csv", "csv.gz", "json", "json.gz", "text lists", "zip", "pandas"),
    "polars",
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_and_frame_gives_the_same_impressions(tmp_path: Path, kind: str) -> None:
    log = Log(written(tmp_path, kind))
    assert plain(log) == SLATES
    assert log.summary is not None
    assert (log.summary.impressions, log.summary.clicks, log.summary.k) == (4, 4, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_an_impression_may_be_cut_by_a_block(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_streams, "BLOCK_ROWS", 2)
    monkeypatch.setattr(row_streams, "BLOCK_BYTES", 50)
    assert plain(Log(written(tmp_path, kind))) == SLATES


def test_a_folder_of_files_is_one_log(tmp_path: Path) -> None:
    frame = pd.DataFrame(by_position())
    frame[:4].to_parquet(tmp_path / "1.parquet")
    frame[4:].to_parquet(tmp_path / "2.parquet")  # an impression goes on here
    (tmp_path / "readme.md").write_text("not a log")
    assert plain(Log(tmp_path)) == SLATES
    frame[8:].assign(click=7).to_parquet(tmp_path / "3.parquet")
    with pytest.raises(fc.DataError, match=r"3\.parquet: row 0: column 'click' must be 0 or 1"):
        Log(tmp_path).read()
    frame.to_csv(tmp_path / "4.csv", index=False)
    with pytest.raises(fc.DataError, match="files of a log must be of one kind"):
        Log(tmp_path)


def test_partitions_of_a_folder_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame(by_position())
    for part, rows in (("day=1/hour=1", slice(0, 4)), ("day=1/hour=2", slice(4, 6))):
        (tmp_path / part).mkdir(parents=True)
        frame[rows].to_parquet(tmp_path / part / "part-0.parquet")
    (tmp_path / "day=2").mkdir()
    frame[6:].to_parquet(tmp_path / "day=2" / "part-0.parquet")
    (tmp_path / "old").mkdir()
    frame.to_parquet(tmp_path / "old" / "part-0.parquet")
    (tmp_path / "day=2" / "_SUCCESS").write_text("")
    assert plain(Log(tmp_path)) == SLATES
    (tmp_path / "all" / "old").mkdir(parents=True)
    frame.to_parquet(tmp_path / "all" / "old" / "part-0.parquet")
    with pytest.raises(fc.DataError, match="or in a folder such as day=1 in it"):
        Log(tmp_path / "all")


def test_an_event_log_without_a_whole_file_says_when_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    with pytest.raises(fc.DataError, match=r"whole yet: one is after --event-log-rotate"):
        Log(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_text_has_any_encoding(tmp_path: Path, encoding: str, separator: str) -> None:
    path = tmp_path / "log.csv"
    slates = [("ü", ["é", "b"], [2])]
    pd.DataFrame(by_position(slates)).to_csv(path, index=False, sep=separator, encoding=encoding)
    assert plain(Log(path, encoding=encoding)) == slates
    if encoding == "utf-16":
        with pytest.raises(fc.DataError, match="UTF-16 text; read it with encoding='utf-16'"):
            Log(path)
        with pytest.raises(fc.DataError, match="JSON lines must be UTF-8"):
            Log(path.rename(tmp_path / "log.jsonl"), encoding=encoding)


def test_codes_are_the_same_each_time(tmp_path: Path) -> None:
    log = Log(written(tmp_path, "csv"))
    assert (log.read().items == log.read().items).all()


def test_columns_can_be_named() -> None:
    frame = pd.DataFrame(by_position()).rename(
        columns={"user": "who", "item": "what", "click": "hit", "position": "spot"}
    )
    with pytest.raises(fc.DataError, match="no column looks like the item"):
        Log(frame)
    assert plain(Log(frame, user="who", item="what", click="hit", position="spot")) == SLATES
    with pytest.raises(fc.DataError, match=r"no column 'wat' \(item=\) \(did you mean 'what'\?\)"):
        Log(frame, item="wat")


def test_impressions_without_an_id_begin_where_user_or_position_say_so() -> None:
    frame = pd.DataFrame(by_position()).drop(columns="slate_id")
    log = Log(frame)
    assert plain(log) == SLATES
    assert "no column looks like ids of impressions" in log.notes[0]


def test_without_users_every_row_is_an_impression_as_in_open_bandit_logs() -> None:
    frame = pd.DataFrame(
        {
            "timestamp": ["2019-11-24 00:00:00.5+00:00", "2019-11-24 00:00:01+00:00"],
            "item_id": [7, 3],
            "position": [3, 1],
            "click": [0, 1],
            "propensity_score": [0.25, 0.5],
        }
    )
    log = Log(frame)
    found = log.read()
    assert found.items.tolist() == [[-1, -1, 0], [1, -1, -1]]
    assert found.users.tolist() == [0, 1]
    assert found.times is not None
    assert np.diff(found.times).tolist() == [0.5]
    assert found.item_position is not None
    assert found.item_position[1, 0] == 0.5


def test_clicks_are_flags_positions_or_items() -> None:
    items = [["a", "b"], ["b", "c"]]
    ways = [
        {"clicks": [[0, 1], [0, 0]]},
        {"clicked_positions": [[2], None]},
        {"clicked_positions": [2, None]},
        {"clicked_items": [["b"], []]},
        {"clicked_item": ["b", None]},
    ]
    for way in ways:
        found = Log(pa.table({"items": items, **way})).read()
        assert found.clicks.tolist() == [[False, True], [False, False]], way


def test_a_click_on_position_0_in_the_first_block_says_that_positions_begin_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zero_based = [(u, i, [position - 1 for position in clicked]) for u, i, clicked in SLATES]
    for invalid in ("refuse", "drop"):
        log = Log(pa.Table.from_pylist(objects(zero_based)), invalid=invalid)
        assert plain(log) == plain(log) == SLATES
        assert log.notes[-1] == "there is a position 0: positions are taken to begin with it"
    monkeypatch.setattr(row_streams, "BLOCK_ROWS", 2)  # there is no 0 in the first two
    advice = r"row 2: .* the first being 1 \(first_position=0 if that is 0; nothing where nothing"
    with pytest.raises(fc.DataError, match=advice):
        Log(pa.Table.from_pylist(objects(zero_based))).read()
    assert plain(Log(pa.Table.from_pylist(objects(zero_based)), first_position=0)) == SLATES


@pytest.mark.parametrize("clicked", [[2, 0, None], [1, 0, 0]])
def test_a_position_0_that_may_stand_for_no_click_decides_nothing(clicked: list[Any]) -> None:
    table = pa.table({"items": [["a", "b"]] * 3, "clicked_position": clicked})
    with pytest.raises(fc.DataError, match=r"row 1: .* the first being 1 \(first_position=0 if"):
        Log(table).read()
    found = Log(table, first_position=0, invalid="drop").read()
    assert found.clicks[-1].any() == (clicked[-1] is not None)


def test_long_slates_come_in_small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_streams, "BLOCK_VALUES", 1000)
    monkeypatch.setattr(impression_rows, "_CELLS", 300)
    monkeypatch.setattr(slate_rows, "_CELLS", 200)
    for k, most in ((100, 2), (20, 10), (1, 200)):
        items, clicks = [list(range(k))] * 200, [[0] * k] * 200
        table = pa.table({"items": items, "click": clicks})
        pq.write_table(table, tmp_path / "log.parquet")
        tables = row_streams.ParquetRows(tmp_path / "log.parquet").blocks(["items"])
        assert max(block.num_rows for block in tables) == min(200, 1000 // k)
        for source in (table, tmp_path / "log.parquet"):
            sizes = [len(block) for block in Log(source).blocks()]
            assert sum(sizes) == 200
            assert max(sizes) == most


@pytest.mark.parametrize("separator", ["|", ",", ";", " "])
def test_lists_in_text_are_told_by_their_clicks(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "log.csv"
    rows = [
        (
            user,
            separator.join(items),
            separator.join(str(int(n in c)) for n in range(1, 1 + len(items))),
        )
        for user, items, c in (SLATES[2], *SLATES)
    ]
    frame = pd.DataFrame(rows, columns=["user", "items", "clicks"])
    frame.to_csv(path, index=False)
    assert plain(Log(path)) == [SLATES[2], *SLATES]
    frame.assign(position=1).to_csv(path, index=False)
    rule = r"line 3: column 'clicks' must be 0 or 1 where a row is a position \(rows='impressions'"
    with pytest.raises(fc.DataError, match=rule):
        Log(path).read()
    assert plain(Log(path, rows="impressions")) == [SLATES[2], *SLATES]


def test_traces_say_how_likely_slates_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    env = fc.Environment.from_arrays(rng.normal(size=(6, 3)), rng.normal(size=(9, 3)), k=3)
    path = tmp_path / "trace.parquet"
    result = fc.simulate(env, fc.EpsilonGreedy(epsilon=0.5), rounds=5, seed=1, trace=path)
    log = Log(path)
    found = log.read()
    assert found.clicks.sum() == round(result.clicks * 45)
    assert found.cascade is not None
    assert found.slate is not None
    assert (found.cascade[:, -1] == found.slate).all()
    assert log.origin["policy"]["epsilon"] == 0.5
    assert found.times is not None
    assert (np.diff(found.times) >= 0).all()


WRONG = {
    "no user": ({"user": [None, "v"]}, 0, "column 'user' must name a user"),
    "no item": ({"item": ["a", None]}, 1, "column 'item' must name an item"),
    "half a position": ({"position": [1.0, 1.5]}, 1, "column 'position' must be a position"),
    "position too far": ({"position": [1, 5000]}, 1, "whole number from 1 to 1000"),
    "click of two": ({"click": [0, 2]}, 1, "column 'click' must be 0 or 1, got 2"),
    "no click": ({"click": [0.0, None]}, 1, "column 'click' must be 0 or 1"),
    "propensity": ({"pscore": [0.5, 1.5]}, 1, "'pscore' must be above 0 and at most 1, got 1.5"),
    "propensity of 0": ({"pscore": [0.0, 0.5]}, 0, "must be above 0"),
    "time": ({"time": ["2026-01-01", "soon"]}, 1, "column 'time' must be a time"),
    "another user": ({"slate_id": [1, 1], "user": ["u", "v"]}, 1, "must be of one user"),
    "position twice": ({"slate_id": [1, 1], "user": ["u", "u"]}, 1, "a position must be in a "),
    "item twice": (
        {"slate_id": [1, 1], "user": ["u", "u"], "position": [1, 2], "item": ["a", "a"]},
        *(1, "an item must be in a slate once"),
    ),
    "click beyond": ({"shown": [1, 0]}, 1, "a click must be on a position that was shown"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_one_line_with_file_row_and_rule(case: str) -> None:
    changes, row, rule = WRONG[case]
    frame = pd.DataFrame(
        {"user": ["u", "v"], "item": ["a", "b"], "position": [1, 1], "click": [0, 1]} | changes
    )
    with pytest.raises(fc.DataError) as caught:
        Log(frame).read()
    message = str(caught.value)
    assert message.startswith(f"DataFrame: row {row}: ")
    assert rule in message
    assert "\n" not in message


@pytest.mark.parametrize("case", WRONG)
def test_impressions_with_a_mistake_can_be_left_out_and_are_counted(case: str) -> None:
    changes, _, rule = WRONG[case]
    good = {"user": ["w"], "item": ["c"], "position": [1], "click": [0]}
    one = pd.DataFrame(
        {"user": ["u", "v"], "item": ["a", "b"], "position": [1, 1], "click": [0, 1]} | changes
    )
    other = {
        "slate_id": [9], "shown": [1], "pscore": [0.5], "time": ["2026-01-02"]
    }  # fmt: skip
    last = pd.DataFrame(good | {name: other[name] for name in changes if name in other})
    log = Log(pd.concat([one, last], ignore_index=True), invalid="drop")
    found = log.read()
    assert log.summary is not None
    dropped = log.summary.dropped
    assert sum(dropped.values()) == (3 if "slate_id" not in changes else 2) - len(found)
    assert any(name.split(", got")[0] in rule or rule in name for name in dropped) or dropped
    assert str(log.item_ids[found.items[-1, 0]]) == "c"


def test_rows_of_an_impression_stand_together() -> None:
    frame = pd.DataFrame(by_position())
    shuffled = frame.iloc[[0, 3, 1, 2, 4, 5, 6, 7, 8]]
    with pytest.raises(fc.DataError, match="must stand together"):
        Log(shuffled).read()
    log = Log(shuffled, invalid="drop")
    assert plain(log) == SLATES[2:]  # and no part of the others
    assert log.summary is not None
    assert log.summary.dropped == {"the rows of an impression must stand together": 4}


@pytest.mark.parametrize("kind", ["whole", "text", "category", "float"])
@pytest.mark.parametrize("size", [20, 60, 190])
@pytest.mark.parametrize("invalid", ["refuse", "drop"])
def test_a_log_in_the_order_of_positions_is_refused_whatever_the_size_of_blocks(
    kind: str, size: int, invalid: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 200  # impressions
    frame = pd.DataFrame(
        {
            "slate_id": np.tile(np.random.default_rng(0).permutation(n), 3),
            "user": np.tile(np.arange(n) % 7, 3),
            "item": np.arange(3 * n) % 11,
            "position": np.repeat([1, 2, 3], n),
            "click": 0,
        }
    )
    frame["slate_id"] = frame["slate_id"].astype(
        {"whole": "int64", "text": "str", "category": "str", "float": "float64"}[kind]
    )
    if kind == "category":
        frame["slate_id"] = frame["slate_id"].astype("category")
    monkeypatch.setattr(row_streams, "BLOCK_ROWS", size)
    with pytest.raises(fc.DataError, match=r"row 2\d\d: the rows of an impression must stand"):
        Log(frame, invalid=invalid).read()
    together = frame.sort_values(["slate_id", "position"])
    assert len(Log(together, invalid=invalid).read()) == n


def test_ids_of_impressions_may_begin_anew_in_each_file(tmp_path: Path) -> None:
    frame = pd.DataFrame(by_position())
    for day in range(3):
        frame.to_parquet(tmp_path / f"{day}.parquet")
    assert plain(Log(tmp_path)) == SLATES * 3
    for day in range(3):  # there is no telling without positions
        frame.drop(columns="position").to_parquet(tmp_path / f"{day}.parquet")
    with pytest.raises(fc.DataError, match=r"1\.parquet: row 0: the rows of an impression must"):
        Log(tmp_path).read()


@given(st.permutations(range(9)), st.integers(1, 9))
def test_rows_in_any_order_are_refused_unless_they_stand_together(
    order: list[int], size: int
) -> None:
    frame = pd.DataFrame(by_position()).iloc[order]
    ids = frame["slate_id"].to_numpy()
    together = (ids[1:] != ids[:-1]).sum() == len(SLATES) - 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_streams, "BLOCK_ROWS", size)
        if together:
            assert sorted(plain(Log(frame))) == sorted(SLATES)
        else:
            with pytest.raises(fc.DataError, match="must stand together"):
                Log(frame).read()


def test_few_ids_are_remembered_of_a_long_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impression_ids, "BLOCKS", 4)
    ids = impression_ids.ImpressionIds()
    for block in range(100):
        first = block * 1000
        ids.add(pa.array(range(first, first + 1000)), np.arange(1000) % 2 == 0)
    known, begun = ids.met(pa.array(range(100_000)))
    assert 2 * impression_ids.OF_A_BLOCK <= known.sum() <= 6 * impression_ids.OF_A_BLOCK
    assert known[99_000:].any()  # the last block always
    assert known[:50_000].any()
    assert (begun[known] == (np.flatnonzero(known) % 2 == 0)).all()
    assert ids.met(pa.array(["99000", "x"]))[0].tolist() == [True, False]


@pytest.mark.parametrize("none", [None, "", " NaN"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_rows_of_no_impression_are_no_impression(none: str | None, dictionary: bool) -> None:
    column = pa.array(["1", "1", none, none, "2"])
    table = pa.table(
        {
            "slate_id": column.dictionary_encode() if dictionary else column,
            "user": ["u"] * 5,
            "item": list("abcde"),
            "position": [1, 2, 1, 2, 1],
            "click": [0, 1, 0, 1, 0],
        }
    )
    with pytest.raises(fc.DataError, match="row 2: column 'slate_id' must name an impression"):
        Log(table).read()
    log = Log(table, invalid="drop")
    assert plain(log) == [("u", ["a", "b"], [2]), ("u", ["e"], [])]
    assert log.summary is not None
    assert log.summary.dropped == {"column 'slate_id' must name an impression": 1}


def test_numbers_of_impressions_may_not_be_missing_either() -> None:
    for ids in (pa.array([1.0, float("nan")]), pa.array([1, None]), pa.array([None, None])):
        table = {"slate_id": ids, "user": ["u"] * 2, "item": ["a", "b"], "click": [0, 1]}
        with pytest.raises(fc.DataError, match="must name an impression"):
            Log(pa.table(table)).read()
    with pytest.raises(fc.DataError, match="could be used: 1 were left out, as column 'slate_id'"):
        Log(pa.table(table), invalid="drop").read()


SAME = {"time": [1.0, 2.0], "shown": [1, 2], "answered": [1, 0], "pscore": [0.5, None]}


@pytest.mark.parametrize("column", SAME)
def test_rows_of_an_impression_say_the_same(column: str) -> None:
    table = {"slate_id": [7, 7], "user": ["u", "u"], "item": ["a", "b"], "position": [1, 2]}
    log = Log(pa.table(table | {"click": [0, 0], column: SAME[column]}))
    rule = f"row 1: column '{column}' must be the same in all rows of an impression, got"
    with pytest.raises(fc.DataError, match=rule):
        log.read()


@pytest.mark.parametrize("words", [[True, False, None], ["True", "false", ""]])
def test_rows_may_say_whether_they_were_shown(words: list[Any]) -> None:
    yes, no, nothing = words
    table = {
        "slate_id": [1, 1, 1, 2, 2, 3, 4, 4],
        "user": ["u"] * 8,
        "item": list("abcabaab"),
        "position": [1, 2, 3, 1, 2, 1, 2, 1],
        "click": [1, 0, 0, 0, 1, 0, 0, 0],
        "shown": [yes, yes, no, yes, nothing, no, no, yes],
    }
    assert Log(pa.table(table)).read().shown.tolist() == [2, 2, 0, 1]
    table["shown"][:2] = [no, yes]
    with pytest.raises(fc.DataError, match="row 0: column 'shown' must be true from the top down"):
        Log(pa.table(table)).read()
    slate = {"user": ["u"], "items": [["a", "b"]], "clicked_positions": [[1]], "shown": [yes]}
    with pytest.raises(fc.DataError, match="row 0: column 'shown' must be a whole number of posi"):
        Log(pa.table(slate)).read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"user": "u", "items": ["a"], "clicked_positions": [1]}\n{"user"', "line 2: must be"),
        ('{"user": "u", "items": ["a"], "clicked_positions": [1]}\n[1]', "line 2: must be a JSON"),
        ('{"user": "u", "items": ["a"], "clicked_positions": [2]}', "line 1: column 'clicked_p"),
        ('{"user": "u", "items": ["a"], "clicked_items": ["b"]}', "must be items of the slate"),
        ('{"user": "u", "items": [], "clicked_items": []}', "must be a list of 1 to 1000 items"),
        ('{"user": "u", "items": ["a", "b"], "click": [1]}', "as many values as the slate"),
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
    ],
)
def test_broken_json_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(fc.DataError, match=message):
        Log(path).read()


def json_lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_ids_of_json_lines_may_be_numbers_and_text_in_one_field(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_streams, "BLOCK_BYTES", size)
    lists = json_lines(
        tmp_path / "lists.jsonl",
        {"user": 7, "items": ["a", 3], "clicked_items": [3], "context": {"a": 1}},
        {"user": "x", "items": [3, "7"], "clicked_items": [], "context": "none"},
        {"user": "7", "items": ["3"], "clicked_items": ["3"]},
    )
    assert plain(Log(lists)) == [("7", ["a", "3"], [2]), ("x", ["3", "7"], []), ("7", ["3"], [1])]
    rows = json_lines(
        tmp_path / "rows.jsonl",
        {"slate_id": 1, "user": 7, "item": "a", "position": 1, "click": 0},
        {"slate_id": "1", "user": "7", "item": 3, "position": 2, "click": 1},
        {"slate_id": "x", "user": 8, "item": 3, "position": 1, "click": 0},
    )
    assert plain(Log(rows)) == [("7", ["a", "3"], [2]), ("8", ["3"], [])]


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_ids_that_look_like_dates_or_are_huge_stay_as_they_are(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_streams, "BLOCK_BYTES", size)
    path = json_lines(
        tmp_path / "log.jsonl",
        *(
            {"user": day, "items": [day, "2024-02-01"], "clicked_positions": [], "time": time}
            for day, time in (("2024-01-01", "2024-01-01T12:00:00Z"), ("2024-01-02", 0.5))
        ),
        {"user": 2**70, "items": [2**70 + 1, 2**70 + 2], "clicked_positions": [2], "time": 1},
    )
    log = Log(path)
    assert plain(log) == [
        ("2024-01-01", ["2024-01-01", "2024-02-01"], []),
        ("2024-01-02", ["2024-01-02", "2024-02-01"], []),
        (str(2**70), [str(2**70 + 1), str(2**70 + 2)], [2]),
    ]
    times = log.read().times
    assert times is not None
    assert times.tolist() == [1704110400.0, 0.5, 1.0]


def test_a_file_with_one_json_array_is_called_that(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    for indent in (None, 2):
        path.write_text(json.dumps(objects(), indent=indent))
        with pytest.raises(fc.DataError, match="this is one JSON array; JSON lines are expected"):
            Log(path)


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-11-18T12:00", "2026-11-18T12:00:01"],
        ["2026-11-18T12:00Z", "2026-11-18T13:00:01+01:00"],
        ["2026-11-18 12:00:00 UTC", "2026-11-18 12:00:01.000 UTC"],
        ["2026-11-18T12:00", "2026-11-18T13:00:01+01:00"],
        ["1795003200", "2026-11-18T12:00:01"],
    ],
)
def test_times_are_read_in_each_usual_form(texts: list[str]) -> None:
    for column in (pa.array(texts), pa.array(texts).dictionary_encode()):
        log = Log(pa.table({"user": ["u", "u"], "item": [1, 2], "click": [0, 0], "time": column}))
        times = log.read().times
        assert times is not None
        assert times.tolist() == [1795003200.0, 1795003201.0]
    day_first = pa.table({"item": [1], "click": [0], "time": ["18/11/2026 12:00"]})
    with pytest.raises(fc.DataError, match="a number, or as in 2026-11-18T12:00:00Z, got '18/11"):
        Log(day_first).read()


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fc.DataError, match="no such file"):
        Log(tmp_path / "none.csv")
    with pytest.raises(fc.DataError, match="no Parquet, CSV or JSON lines"):
        Log(tmp_path)
    (tmp_path / "x.bin").write_bytes(b"\0\1\2")
    with pytest.raises(fc.DataError, match="binary data"):
        Log(tmp_path / "x.bin")
    with pytest.raises(fc.DataError, match="no column looks like the click"):
        Log(pd.DataFrame({"user": [1], "item": [2]}))
    with pytest.raises(ValueError, match="invalid must be one of refuse, drop"):
        Log(pd.DataFrame(by_position()), invalid="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="first_position must be 0 or 1"):
        Log(pd.DataFrame(by_position()), first_position=2)
    with pytest.raises(fc.DataError, match="there are no rows"):
        Log(pd.DataFrame(by_position())[:0]).read()
    for ends in ("", "\n"):
        (tmp_path / "head.csv").write_text(f"user,item,position,click{ends}")
        with pytest.raises(fc.DataError, match="there are no rows"):
            Log(tmp_path / "head.csv").read()
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "user,item,click\n1,2,0\n")
        archive.writestr("b/b.csv", "user,item,click\n1,2,0\n")
    with pytest.raises(fc.DataError, match="name one of them with member="):
        Log(tmp_path / "two.zip")
    assert len(Log(tmp_path / "two.zip", member="b/b.csv").read()) == 1


def test_columns_come_in_many_types() -> None:
    frame = pd.DataFrame(by_position())
    several = [
        frame.astype({"user": "category", "item": "category", "click": bool}),
        frame.assign(time=pd.Timestamp("2026-11-18", tz="Europe/Paris")),
        frame.assign(time=pd.Timestamp("2026-11-18").date()),
        frame.astype({"position": "float32", "slate_id": "uint64", "click": "string"}),
        frame.assign(click=frame["click"].map({0: "false", 1: "True"})),
        pd.DataFrame(objects()),
        pl.DataFrame(objects()),
    ]
    for each in several:
        assert plain(Log(each)) == SLATES


def test_ids_of_any_size_and_kind_are_told_apart() -> None:
    ids = [2**63 + 5, 3, 7]
    frame = pd.DataFrame({"user": np.array(ids, dtype=np.uint64), "item": [1, 2, 3], "click": 0})
    log = Log(frame)
    log.read()
    assert log.user_ids.tolist() == [str(each) for each in ids]
    sparse = Log(pd.DataFrame({"user": [-5, 10**15, -5], "item": [1, 2, 3], "click": 0}))
    assert sparse.read().users.tolist() == [0, 1, 0]


BIG = [2**62 + 1, 2**62 + 2, -(2**63), 2**63 - 1]
UUIDS = [UUID(int=2**127 + n) for n in range(4)]
WAYS_OF_IDS: dict[str, tuple[list[str], Any]] = {
    "whole numbers of 19 digits": ([*map(str, BIG)], pa.array(BIG)),
    "beyond 64 bits": ([str(3**50 + n) for n in range(4)], None),
    "decimals": ([str(2**63 + n) for n in range(4)], pa.decimal128(20, 0)),
    "decimals with digits": (["1", "2", "3", "4"], pa.decimal128(20, 2)),
    "numbers with a point": (["1", "2", "3", "4"], pa.float64()),
    "bytes": (["a", "é", "c", "d"], pa.binary()),
    "bytes of one size": (["ab", "cd", "ef", "gh"], pa.binary(2)),
    "views of bytes": (["ab", "cd", "ef", "gh"], pa.binary_view()),
    "views of text": (["a", "b", "c", "d"], pa.string_view()),
    "long text": (["a", "b", "c", "d"], pa.large_string()),
    "bytes of UUIDs": ([*map(str, UUIDS)], pa.array([u.bytes for u in UUIDS], pa.binary(16))),
    "UUIDs": ([*map(str, UUIDS)], pa.array([u.bytes for u in UUIDS], pa.uuid())),
}


def _typed(ids: list[str], kind: Any) -> pa.Array:
    if isinstance(kind, pa.Array):
        return kind
    if kind is not None and pa.types.is_decimal(kind):
        return pa.array([Decimal(each) for each in ids], kind)
    if kind == pa.float64():
        return pa.array([float(each) for each in ids])
    return pa.array([*map(str.encode, ids)] if _of_bytes(kind) else ids, kind)


def _of_bytes(kind: Any) -> bool:
    return kind in (pa.binary(), pa.binary(2), pa.binary_view())


@pytest.mark.parametrize("way", WAYS_OF_IDS)
def test_ids_come_in_many_types(way: str) -> None:
    ids, kind = WAYS_OF_IDS[way]
    column = _typed(ids, kind)
    table = {"user": column, "slate_id": column, "item": column, "position": [1] * 4}
    log = Log(pa.table(table | {"click": [0, 1, 0, 0]}))
    assert plain(log) == [(each, [each], [1] * (n == 1)) for n, each in enumerate(ids)]
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4], pa.int32()), column)
    clicked = pa.array([column[1], None], column.type)
    log = Log(pa.table({"user": column[:2], "items": lists, "clicked_item": clicked}))
    assert plain(log) == [(ids[0], ids[:2], [2]), (ids[1], ids[2:], [])]


def test_what_is_neither_text_nor_a_whole_number_is_no_id() -> None:
    for wrong in (
        pa.array([b"\xff\xfe"]),
        pa.array([Decimal("1.5")]),
        pa.array([1.5]),
        pa.array([True]),
        pa.array([datetime(2026, 1, 1)]),
        pa.array([{"id": 1}]),
    ):
        with pytest.raises(fc.DataError, match="row 0: column 'user' must name a user"):
            Log(pa.table({"user": wrong, "item": ["a"], "click": [0]})).read()
    for wrong in (pa.array([{"id": 1}]), pa.array([[1]]), pa.array([b"\xff\xfe"])):
        with pytest.raises(fc.DataError, match="row 0: column 'slate_id' must name an impression"):
            Log(pa.table({"slate_id": wrong, "item": ["a"], "click": [0]})).read()


def test_a_slate_that_is_too_long_does_not_widen_the_others() -> None:
    long = {"user": "u", "items": [f"i{n}" for n in range(5000)], "clicked_positions": []}
    log = Log(pa.Table.from_pylist([*objects(), long]), invalid="drop")
    assert log.read().k == 3
    assert log.summary is not None
    assert sum(log.summary.dropped.values()) == 1


slates = st.lists(
    st.tuples(
        st.sampled_from(["u", "v", "7"]),
        st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True),
    ),
    min_size=1,
    max_size=12,
)


@given(slates, st.data())
def test_blocks_of_any_size_give_the_same_impressions(given_slates: Any, data: Any) -> None:
    chosen = [
        (user, items, sorted(data.draw(st.sets(st.integers(1, len(items))))))
        for user, items in given_slates
    ]
    frame, lists = pd.DataFrame(by_position(chosen)), pa.Table.from_pylist(objects(chosen))
    size = data.draw(st.integers(1, 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_streams, "BLOCK_ROWS", size)
        assert plain(Log(frame)) == chosen
        assert plain(Log(lists)) == chosen


def test_impressions_join_and_take() -> None:
    narrow = Log(pd.DataFrame(by_position(SLATES[1:3]))).read()
    wide = Log(pd.DataFrame(by_position(SLATES[3:]))).read()
    joined = Impressions.join([narrow, wide])
    assert joined.items.shape == (3, 3)
    assert joined.items[1].tolist()[1:] == [-1, -1]
    assert joined.take(slice(1, 2)).items.shape == (1, 3)
    with pytest.raises(ValueError, match="at least one block"):
        Impressions.join([])
