"""Files that nobody should have: each is refused in a line that names the place, or read right."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faircascade as fc
from faircascade.data import delimited
from faircascade.data.log import Log, log, row_streams

GOOD = {"user": "u", "items": ["a", "b"], "clicked_positions": [1]}
LINE = json.dumps(GOOD)


def refused(source: Any, **settings: Any) -> str:
    """Return what is said of a log, in one line."""
    with pytest.raises(fc.DataError) as caught:
        Log(source, **settings).read()
    message = str(caught.value)
    assert "\n" not in message
    return message


def lines(folder: Path, *texts: str | bytes, name: str = "log.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join((t if isinstance(t, bytes) else t.encode()) + b"\n" for t in texts))
    return path


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (LINE + LINE, "line 2: must be a JSON object, got Extra data"),
        (json.dumps(GOOD, indent=1), "line 2: must be a JSON object, got Expecting property"),
        ("[" * 100_000, "line 2: must be a JSON object, got maximum recursion depth"),
        (json.dumps({**GOOD, "user": {"id": 1}}), "line 2: field 'user' changes its type"),
        (json.dumps({**GOOD, "items": "a"}), "line 2: field 'items' changes its type"),
        (json.dumps({**GOOD, "user": "\ud800"}), "is not Unicode, got '\\ud800'"),
        (b'{"user": "caf\xe9", "items": ["a"], "clicked_positions": []}', "line 2: JSON lines mus"),
        (json.dumps({**GOOD, "items": ["a", "a\0"]}), "line 2: an item must be text"),
        (json.dumps({**GOOD, "user": "u\0"}), "line 2: column 'user' must name a user"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, second: Any, message: str) -> None:
    path = lines(tmp_path, LINE, second, LINE)
    said = refused(path)
    assert said.startswith(f"{path}: ")
    assert message in said


def test_an_id_that_ends_with_a_zero_byte_is_not_taken_for_another() -> None:
    table = {"user": ["u", "u"], "item": ["a", "a\0"], "click": [0, 1]}
    assert "row 1: column 'item' must name an item" in refused(pa.table(table))


@pytest.mark.parametrize("number", ["1_0", "0_1", "١"])
def test_what_only_python_takes_for_a_number_is_none(tmp_path: Path, number: str) -> None:
    path = lines(tmp_path, "user,item,position,click", f"u,a,{number},0", name="a.csv")
    assert "line 2: column 'position' must be a position" in refused(path)
    path = lines(tmp_path, "user,item,position,click", f"u,a,1,{number}", name="a.csv")
    assert "line 2: column 'click' must be 0 or 1" in refused(path)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path, "user,item,item,x,x,click", "u,a,b,1,1,0", name="a.csv")
    assert "column 'item' is there 2 times" in refused(path)
    assert len(Log(lines(tmp_path, "user,item,x,x,click", "u,a,1,1,0", name="a.csv")).read()) == 1
    columns = [pa.array(["u"]), pa.array(["v"]), pa.array(["a"]), pa.array([1])]
    twice = pa.Table.from_arrays(columns, names=["user", "user", "item", "click"])
    pq.write_table(twice, tmp_path / "a.parquet")
    assert "column 'user' is there 2 times" in refused(tmp_path / "a.parquet")


@pytest.mark.parametrize("sep", ["ab", "", '"', "\n"])
def test_a_separator_is_one_character(tmp_path: Path, sep: str) -> None:
    path = lines(tmp_path, "user,item,click", "u,a,0", name="a.csv")
    with pytest.raises(ValueError, match="sep must be one character"):
        Log(path, sep=sep)


@pytest.mark.parametrize("time", ["2026-11-18 12:00:00.123456789", "1969-12-31 23:59:59.999999999"])
def test_times_may_have_nanoseconds(time: str) -> None:
    frame = pd.DataFrame({"user": ["u"], "item": ["a"], "click": [0]})
    found = Log(frame.assign(time=np.array([time], dtype="datetime64[ns]"))).read().times
    assert found is not None
    assert found[0] == pytest.approx(pd.Timestamp(time).timestamp(), abs=2e-6)


def test_a_slate_is_not_longer_without_positions(tmp_path: Path) -> None:
    rows = {"slate_id": [1] * 1001 + [2], "item": [*range(1001), 0], "click": [0] * 1002}
    said = refused(pa.table(rows))
    assert "row 1000: an impression must have at most 1000 rows" in said
    found = Log(pa.table(rows), invalid="drop")
    assert found.read().items.tolist() == [[0]]
    assert found.summary is not None
    assert found.summary.dropped == {"an impression must have at most 1000 rows": 1}


def test_an_impression_without_end_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_streams, "BLOCK_ROWS", 1000)
    longest = []
    joined = log.joined
    monkeypatch.setattr(log, "joined", lambda a, b: longest.append(len(a)) or joined(a, b))
    rows = {"slate_id": np.zeros(20_000, int), "item": np.arange(20_000), "click": [0] * 20_000}
    refused(pa.table(rows))
    assert max(longest) <= 1000


PROPENSITIES = {
    "pscore": ("slate", [0.5, np.nan]),
    "propensity": ("item_position", [[0.5], [np.nan]]),
}


@pytest.mark.parametrize("none", ["", "nan", None])
@pytest.mark.parametrize("name", PROPENSITIES)
def test_a_propensity_may_be_missing_in_text(tmp_path: Path, name: str, none: str | None) -> None:
    attribute, wanted = PROPENSITIES[name]
    rows = {"user": ["u", "v"], "item": ["a", "b"], "click": [0, 1], name: ["0.5", none]}
    found = getattr(Log(pa.table(rows)).read(), attribute)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("none", ["", None])
def test_propensities_of_a_slate_may_be_missing_in_text(none: str | None) -> None:
    rows = {"user": ["u", "v"], "items": ["a|b", "b|a"], "clicked_positions": ["1", ""]}
    found = Log(pa.table(rows | {"pscore_cascade": ["0.5|0.5", none]})).read()
    np.testing.assert_array_equal(found.cascade, [[0.5, 0.5], [np.nan, np.nan]])
    said = refused(pa.table(rows | {"pscore_cascade": ["0.5|0.5", "0.5|half"]}))
    assert "row 1: a propensity must be above 0" in said


def test_a_column_may_have_no_propensities_at_all(tmp_path: Path) -> None:
    rows = {"user": ["u"], "items": [["a", "b"]], "clicked_positions": [[]]}
    found = Log(pa.table(rows | {"pscore_cascade": pa.nulls(1)})).read()
    assert np.isnan(found.cascade).all()


def test_shown_and_answered_may_be_missing_in_text() -> None:
    rows = {"user": ["u", "v"], "item": ["a", "b"], "click": [0, 1]}
    found = Log(pa.table(rows | {"shown": ["0", ""], "answered": ["0", ""]})).read()
    assert found.shown.tolist() == [0, 1]
    assert found.answered is not None
    assert found.answered.tolist() == [False, True]


def test_files_of_a_folder_may_differ_in_columns_that_are_not_read(tmp_path: Path) -> None:
    head = "user,item,click"
    lines(tmp_path, f"x,{head}", "9,u,a,0", name="csv/1.csv")
    lines(tmp_path, head, "u,a,1", name="csv/2.csv")
    assert Log(tmp_path / "csv").read().clicks.tolist() == [[False], [True]]
    lines(tmp_path, "user,item", "u,a", name="csv/3.csv")
    assert "3.csv: there is no column 'click', which" in refused(tmp_path / "csv")
    lines(tmp_path, json.dumps({**GOOD, "pscore": 0.5, "scores": [2, 1]}), name="json/1.jsonl")
    lines(tmp_path, LINE, name="json/2.jsonl")
    np.testing.assert_array_equal(Log(tmp_path / "json").read().slate, [0.5, np.nan])


def test_archives_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    rows = {"user": ["u"], "item": ["a"], "click": [0]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    for name, data in (
        ("a.parquet", (tmp_path / "a.parquet").read_bytes()),
        ("a.csv.gz", gzip.compress(b"user,item,click\nu,a,0\n", mtime=0)),
    ):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr(name, data)
        said = refused(tmp_path / "a.zip")
        assert f"a.zip: {name}: a file in a zip file must be text" in said
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    assert refused(tmp_path / "empty.zip").endswith("empty.zip: there are no files in it")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    assert refused(tmp_path / "cut.zip").endswith("not a zip file, or only a part of one")
    packed = gzip.compress((tmp_path / "a.parquet").read_bytes())
    (tmp_path / "a.parquet.gz").write_bytes(packed)
    assert "must not be compressed as a whole" in refused(tmp_path / "a.parquet.gz")


def test_json_lines_are_known_by_their_first_byte_and_are_utf_8(tmp_path: Path) -> None:
    assert len(Log(lines(tmp_path, b"\xef\xbb\xbf" + LINE.encode(), name="log")).read()) == 1
    path = tmp_path / "wide.jsonl"
    path.write_text(LINE, encoding="utf-16")
    assert refused(path) == f"{path}: JSON lines must be UTF-8"
    assert refused(path, encoding="utf-16") == f"{path}: JSON lines must be UTF-8"


def test_text_of_parquet_files_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    offsets, data = np.array([0, 2, 4], np.int32).tobytes(), b"\xff\xfeok"
    users = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"user": users, "item": ["a", "b"], "click": [0, 1]}), path)
    assert refused(path) == f"{path}: there is text that is not UTF-8"


def test_a_long_field_does_not_hide_what_is_wrong_elsewhere(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    text = ["user,item,click,page", f"u,a,0,{'x' * 200_000}", "u,b,7,x"]
    assert "line 3: column 'click' must be 0 or 1" in refused(lines(tmp_path, *text, name="a.csv"))
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_line_without_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for module in (delimited, row_streams):
        monkeypatch.setattr(module, "BLOCK_BYTES", 1000)
    start = "user,item,click\n" if name == "a.csv" else f"{LINE}\n"
    said = refused(lines(tmp_path, start + "x" * 100_000, name=name))
    assert "line 2: must be shorter than 1,000 characters" in said
