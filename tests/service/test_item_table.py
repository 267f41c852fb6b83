"""Files of items: what is found in them, and what is said about those that cannot be used."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faircascade.data.base import DataError
from faircascade.service.catalogue.item_table import read_items
from faircascade.service.logs import TextLines


def written(folder: Path, text: str, name: str = "items.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def parquet(folder: Path, **columns: object) -> Path:
    path = folder / "items.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_columns_of_numbers_are_features_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "b,item_id,title,a\n1,x,The X,2\n3,y,Why,-4e-1\n")
    table = read_items(file)
    assert table.dim == 2
    assert [item.item for item in table.items] == ["x", "y"]
    assert [list(item.features) for item in table.items] == [[1, 2], [3, -0.4]]
    assert table.notes == (
        "features: 2 columns ('b', 'a')",
        "not used: 'title' (--attributes keeps them)",
    )


def test_what_is_known_of_items_is_not_a_feature(tmp_path: Path) -> None:
    text = "ID,Genre,supplier,merit,popularity,f1\n7,a|b,acme,0.5,12,1\n8,,acme,2,0,3\n"
    first, second = read_items(written(tmp_path, text)).items
    assert (first.item, first.group, first.supplier) == ("7", "a|b", "acme")
    assert (first.merit, first.popularity) == (0.5, 12)
    assert list(first.features) == [1]
    assert second.group == "unknown"


def test_what_a_file_does_not_say_stays_open(tmp_path: Path) -> None:
    (item,) = read_items(written(tmp_path, "item,x\na,1\n")).items
    assert (item.merit, item.popularity, item.group, item.supplier) == (None, None, None, None)


@pytest.mark.parametrize(
    ("wanted", "features"),
    [("f*", [1, 2]), ("f2,f1", [2, 1]), ("year", [1999]), ("f?, year", [1, 2, 1999])],
)
def test_features_can_be_named(tmp_path: Path, wanted: str, features: list[float]) -> None:
    file = written(tmp_path, "item,f1,year,f2\na,1,1999,2\n")
    (item,) = read_items(file, wanted).items
    assert list(item.features) == features


def test_topics_are_named_and_no_features(tmp_path: Path) -> None:
    table = read_items(written(tmp_path, "item,jazz,x,pop\na,1,7,0\nb,0.5,8,0\n"), None, "jazz,pop")
    assert (table.dim, table.topics) == (1, 2)
    assert [list(item.topics) for item in table.items] == [[1, 0], [0.5, 0]]
    assert [list(item.features) for item in table.items] == [[7], [8]]
    assert table.notes == ("features: 1 columns ('x')", "topics: 2 columns ('jazz', 'pop')")


def test_topics_can_be_a_column_of_vectors_and_the_features_too(tmp_path: Path) -> None:
    file = parquet(tmp_path, id=["a", "b"], about=[[1.0, 0.0], [0.5, 0.5]])
    table = read_items(file, "about", "about")
    assert [list(item.topics) for item in table.items] == [[1, 0], [0.5, 0.5]]
    assert [list(item.features) for item in table.items] == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        ("t", r"line 3: column 't' must be between 0 and 1, got 1\.5"),
        ("tt", r"--topics must name columns of the file.*got 'tt'"),
        ("title", r"column 'title' must be a list of numbers"),
    ],
)
def test_topics_that_cannot_be_are_refused(tmp_path: Path, topics: str, said: str) -> None:
    file = written(tmp_path, "item,x,t,title\na,1,1,A\nb,2,1.5,B\n")
    with pytest.raises(DataError, match=said):
        read_items(file, None, topics)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2)])
def test_a_column_of_vectors_in_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], kind)
    table = read_items(parquet(tmp_path, item_id=[10, 20], embedding=vectors, price=[1.0, 2.0]))
    assert [item.item for item in table.items] == ["10", "20"]
    assert np.array_equal([item.features for item in table.items], [[1, 2], [3, 4]])
    assert table.notes == (
        "features: the column 'embedding'",
        "not used: 'price' (--attributes keeps them)",
    )


def test_a_column_of_vectors_in_text_is_json(tmp_path: Path) -> None:
    file = written(tmp_path, "item\tfeatures\na\t[1, 2.5]\nb\t[0, -1e2]\n", "items.tsv")
    assert [list(item.features) for item in read_items(file).items] == [[1, 2.5], [0, -100]]


def test_columns_in_parquet_are_told_by_their_types(tmp_path: Path) -> None:
    file = parquet(tmp_path, id=["a"], title=["1"], live=[True], x=[1], y=[0.5], group=[["p", "q"]])
    (item,) = read_items(file).items
    assert list(item.features) == [1, 0.5]
    assert item.group == "p|q"


def test_row_numbers_that_pandas_writes_along_are_not_features(tmp_path: Path) -> None:
    (item,) = read_items(written(tmp_path, ",item,x\n0,a,5\n")).items
    assert list(item.features) == [5]


def test_many_columns_are_told_briefly(tmp_path: Path) -> None:
    names = [f"f{n}" for n in range(30)]
    file = written(tmp_path, f"item,{','.join(names)}\na,{','.join('1' * 30)}\n")
    assert read_items(file).notes == (
        "features: 30 columns ('f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', ..., 'f29')",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title,x\na,1\n", "no column looks like item ids (item_id, item, iid, id)"),
        ("item,title\na,b\n", "no feature columns"),
        ("item,x\n", "has no items"),
        ("item,x\na,1\nb,much\n", "line 3: column 'x' must be a number, got 'much'"),
        ("item,x\na,1\nb,nan\n", "line 3: column 'x' must not be empty or NaN"),
        ("item,x\na,1\nb,1e5\n", "line 3: column 'x' must be between -10000 and 10000"),
        ("item,x\na,1\na,2\n", "line 3: column 'item' must name each item once, got 'a' again"),
        ("item,x\na,1\n ,2\n", "line 3: column 'item' must not be empty"),
        (f"item,x\n{'a' * 257},1\n", "line 2: column 'item' must be text of 1 to 256 characters"),
        ("item,x\na\x07,1\n", "line 2: column 'item' must be text of 1 to 256 characters"),
        (
            "item,x,merit\na,1,1\nb,1,0\n",
            "line 3: column 'merit' must be a finite number > 0, got 0.0",
        ),
        ("item,x,merit\na,1,-1\n", "line 2: column 'merit' must be a finite number > 0, got -1.0"),
        ("item,x,popularity\na,1,-1\n", "line 2: column 'popularity' must be a finite number >= 0"),
        ("item;features\na;[1,2]\nb;[1]\n", "line 3: column 'features' must hold as many numbers"),
        ("item;features\na;[]\n", "line 2: column 'features' must hold as many numbers"),
        ("item;features\na;[1,null]\n", "line 2: column 'features' must be a list of numbers"),
        ("item;features\na;one\n", "line 2: column 'features' must be a list of numbers"),
        ("item;features\na;[1,1e9]\n", "line 2: column 'features[1]' must be between"),
        ("item\na\n", "only one column found, 'item'; columns must be separated by a comma"),
        ("item,x,x\na,1,2\n", "column 'x' appears more than once"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_by_place_and_rule(
    tmp_path: Path, text: str, message: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(DataError) as error:
        read_items(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0], [1.0, 2.0]], "row 1: column 'vector' must hold as many numbers"),
        ([[1.0], None], "row 1: column 'vector' must not be empty"),
        ([[1.0], [None]], "row 1: column 'vector' must hold numbers only, got null"),
        ([[1.0], [float("nan")]], "row 1: column 'vector[0]' must be between"),
        ([["a"], ["b"]], "column 'vector' must hold lists of numbers, got the type list"),
        (["a", "b"], "column 'vector' must hold numbers or lists of them, got the type string"),
    ],
)
def test_vectors_that_cannot_be_used_are_told(tmp_path: Path, vectors: list, message: str) -> None:
    with pytest.raises(DataError, match=r"items\.parquet") as error:
        read_items(parquet(tmp_path, item=["a", "b"], vector=vectors))
    assert message in str(error.value)


def test_features_that_are_not_there_are_told_with_what_is(tmp_path: Path) -> None:
    file = written(tmp_path, "item,price\na,1\n")
    with pytest.raises(DataError, match=r"did you mean 'price'\?.*got 'pric'"):
        read_items(file, "pric")
    with pytest.raises(DataError, match=r"got 'f\*'; the columns are 'item', 'price'"):
        read_items(file, "f*")
    file = written(tmp_path, "item,title\na,long\n")
    with pytest.raises(DataError, match="line 2: column 'title' must be a list of numbers"):
        read_items(file, "title")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: cannot be read"):
        read_items(tmp_path / "nowhere.csv")


def test_a_folder_is_told_what_is_wanted_instead(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--items must be a file: Parquet, CSV or TSV, got a"):
        read_items(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b'[\n {"item": "a", "x": 1},\n {"item": "b", "x": 2}\n]',
        b'{"item": "a", "x": 1}\n{"item": "b", "x": 2}\n',
        b"\xef\xbb\xbf[[1, 2], [3, 4]]",
        b"<!doctype html><title>a, b</title>",
        b"PK\x03\x04rest",
        b"\x1f\x8brest",
        b"\x89PNG\r\n\x1a\n\0\0",
    ],
)
def test_what_is_not_a_table_is_told_so_in_short(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "items.json"
    file.write_bytes(content + b" " + b"1, " * 5_000)
    with pytest.raises(DataError, match="is not Parquet, CSV or TSV, it begins with") as error:
        read_items(file)
    assert len(str(error.value)) < 300


def test_a_name_in_brackets_is_still_a_column(tmp_path: Path) -> None:
    (item,) = read_items(written(tmp_path, "[id],[x]\na,1\n")).items
    assert item.item == "a"


@pytest.mark.parametrize(
    "content",
    [
        "item,gr\u00f6\u00dfe\na,1\n".encode("latin-1"),
        "item,x\nb\u00e4r,1\n".encode("latin-1"),
        "item,x\na,1\n".encode("utf-16"),
    ],
)
def test_text_that_is_not_utf_8_is_told_what_it_must_be(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "items.csv"
    file.write_bytes(content)
    with pytest.raises(DataError, match="the file must be UTF-8") as error:
        read_items(file)
    assert "encoding=" not in str(error.value)


def test_many_columns_are_not_all_named(tmp_path: Path) -> None:
    many = ",".join(f"c{n}" for n in range(2_000))
    for text, features in (
        (f"{many}\n", None),
        (f"item,{many}\n", "nothing"),
        (f"item,{many}\na,1\n", "c*"),
    ):
        with pytest.raises(DataError, match=r"'c8'.* and 1,99. more") as error:
            read_items(written(tmp_path, text), features)
        assert len(str(error.value)) < 500
    text = f"item,x,{many}\na,1{',t' * 2_000}\n"
    assert len(" ".join(read_items(written(tmp_path, text), "x").notes)) < 300


@pytest.mark.parametrize(
    ("rows", "length"),
    [("a,3,4\nb,303,404\nc,6000,8000\n", "505"), ("a,0,0.001\n", "0.001"), ("a,0,0\n", "0")],
)
def test_features_far_from_length_1_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rows: str, length: str
) -> None:
    file = written(tmp_path, f"item,x,y\n{rows}")
    read_items(file)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert (
        TextLines()
        .format(record)
        .endswith(
            f"WARNING {file}: features have a length of about {length}; "
            "scores and exploration assume about 1: scale them"
        )
    )


def test_features_of_about_length_1_are_not_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read_items(written(tmp_path, "item,x,y\na,3,4\nb,0.1,0\nc,300,400\n"))
    assert caplog.records == []
