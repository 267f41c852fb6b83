"""Bad tables get one line that names the file, the place and the rule."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.data.base import DataError
from faircascade.data.delimited import Layout, parse
from faircascade.data.load import load_dataset

HEADER = "user,item,rating\n1,1,5\n"


def refusal(source: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        load_dataset(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("user/item/rating\n1/2/3\n", "line 1: only one column found, 'user/item/rating'"),
        ("user/item/rating\n1/2/3\n", "sep="),
        ("1  2  3\n", "line 1: fields are separated by more than one space"),
        ("user,thing,rating\n1,2,3\n", "no column looks like the item"),
        ("user,thing,rating\n1,2,3\n", "the columns are 'user', 'thing', 'rating'"),
        ("user,thing,rating\n1,2,3\n", "name it with item="),
        ("ann,x,3\nbob,y,6\n", "columns= if the file has no header (or layout='surprise')"),
        ("1,2,3,4,5\n", "line 1: 5 columns and no header; name them with columns="),
        ("1,2,3,4,5\n", "or say layout='matrix' if rows are users and columns are items"),
        ("user," + ",".join(f"x{i}" for i in range(20)), "'x8' and 11 more"),
        ("x" * 20_000_000, "line 1: must be shorter than 16,777,216 characters"),
        (HEADER + "x" * 200_000 + ",1,z\n", "line 3: column 'rating' must be a number, got 'z'"),
        ("user,item,rating,user\n1,2,3,4\n", "column 'user' is there 2 times"),
        ("user,item,rating\n", "there are no ratings in it"),
        (HEADER + "1,2,good\n", "line 3: column 'rating' must be a number, got 'good'"),
        (HEADER + "\n1,2,\n", "line 4: column 'rating' must be a number, got ''"),
        (HEADER + "1,2,NA\n", "line 3: column 'rating' must be a number, got 'NA'"),
        (HEADER + "1,2,1_0\n", "line 3: column 'rating' must be a number, got '1_0'"),
        ("\nuser/item\n", "line 2: only one column found"),
        (HEADER + "1,2,NaN\n", "line 3: column 'rating' must not be empty or NaN"),
        (HEADER + "1,2,\n", "leave out rows without a user, item or rating with missing='drop'"),
        (HEADER + "\n\n1,2,-inf\n", "line 5: column 'rating' must be a finite number, got -inf"),
        (HEADER + "1,2,1e60\n", "line 3: the rating must be a finite number, got 1e+60"),
        (HEADER + ",2,3\n", "line 3: column 'user' must not be empty or NaN"),
        (HEADER + "1, ,3\n", "line 3: column 'item' must not be empty or NaN"),
        (HEADER + "1,nan,3\n", "line 3: column 'item' must not be empty or NaN"),
        (HEADER + "1,2\n", "line 3: 3 fields expected (user, item, rating), got 2: '1,2'"),
        (HEADER + "1,2,3,4\n", "line 3: 3 fields expected (user, item, rating), got 4"),
        (HEADER + '1,"2,3\n', "line 3: 3 fields expected"),
        ('user,item,rating\n"a\nb",1,5\n1,2,x\n', "line 4: column 'rating' must be a number"),
        ("user,item,rating\n" + "1,1,5\n" * 3 + "1,x\ry,z\n", "line 5: "),
    ],
)
def test_bad_text_is_explained(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content.encode())
    message = refusal(path)
    assert expected in message
    assert "bad.csv" in message


@settings(max_examples=150)
@given(text=st.text("0159+-.eEnaif _xN\t", max_size=6), whole=st.booleans())
def test_what_arrow_refuses_is_always_explained_with_its_line(text: str, whole: bool) -> None:
    layout = Layout(
        columns=("x", "y"), kinds={"y": "integer" if whole else "number"}, separator=";"
    )
    lines = f"1;1\n1;{text}\n".encode()
    try:
        parse(lines, layout, label="file", first_line=lambda: 7)
    except DataError as error:
        assert str(error).startswith("file: line 8: column 'y' must be ")  # noqa: PT017


@pytest.mark.parametrize("sep", ["::", "\t", ";", "|"])
def test_lines_are_numbered_whatever_the_separator(tmp_path: Path, sep: str) -> None:
    path = tmp_path / "bad.dat"
    path.write_text((HEADER + "1,2,x\n").replace(",", sep))
    assert f"{path}: line 3: column 'rating' must be a number, got 'x'" == refusal(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"\x7fELF\0\0\1", "a.csv: this is binary data, not text"),
        ("a.csv", b"PK\x03\x04\0\0", "a.csv: not a zip file, or only a part of one"),
        ("a.parquet", b"user,item,rating\n", "a.parquet: this is not a Parquet file"),
        ("a.parquet", b"", "a.parquet: this is not a Parquet file"),
        ("a.csv", b"PAR1 cut off", "a.csv: this is not a Parquet file"),
        (
            "a.parquet.gz",
            gzip.compress(b"PAR1", mtime=0),
            "a.parquet.gz: Parquet files must not be compr",
        ),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "a.csv.gz: the file is empty"),
        ("a.csv.gz", gzip.compress(b"\0\1", mtime=0), "a.csv.gz: this is binary data, not text"),
        ("a.csv", b"user,item,rating,caf\xe9\n1,1,1,1\n", "line 1: not utf-8 text"),
        ("a.csv", b"user,item,rating\n\xff\xfe,1,1\n", "line 2: column 'user' is not utf-8 text"),
    ],
)
def test_bytes_of_another_format_are_explained(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert expected in refusal(tmp_path / name)


def test_a_folder_is_not_a_table(tmp_path: Path) -> None:
    assert f"{tmp_path}: a folder is not a table" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"user": "usr"}, "no column 'usr' (user=) (did you mean 'user'?); the columns are"),
        ({"groups": ("genre",)}, "no column 'genre' (groups=)"),
        ({"supplier": "label"}, "no column 'label' (supplier=)"),
        ({"rating": "stars"}, "no column 'stars' (rating=)"),
        ({"merit": "worth"}, "no column 'worth' (merit=)"),
        ({"user": "item"}, "user, item and rating must be three columns"),
        ({"sep": ";"}, "only one column found, 'user,item,rating'"),
        ({"encoding": "utf-99"}, "utf-99"),
    ],
)
def test_options_that_do_not_fit_are_explained(
    tmp_path: Path, options: dict[str, Any], expected: str
) -> None:
    path = tmp_path / "r.csv"
    path.write_text(HEADER)
    message = refusal(path, **options)
    assert expected in message
    assert str(path) in message


@pytest.mark.parametrize("sep", [", ", "", "\n", '"'])
def test_a_separator_is_one_character_or_a_double_colon(sep: str) -> None:
    with pytest.raises(ValueError, match="sep must be one character or '::', got "):
        load_dataset(pl.DataFrame(), sep=sep)


@pytest.mark.parametrize("value", ["-1", "inf"])
def test_merit_must_be_finite_and_not_negative(tmp_path: Path, value: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"user,item,rating,merit\n1,1,5,0\n1,2,5,{value}\n")
    message = refusal(path, merit="merit")
    assert f"{path}: line 3: column 'merit' must be a finite number >= 0" in message


def test_an_item_without_merit_is_named() -> None:
    ratings = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rating": [1, 1]})
    items = pl.DataFrame({"item": [1], "worth": [1.0]})
    assert "item 2 has no merit" in refusal(ratings, items=items, merit="worth")


def test_an_item_table_without_wanted_columns_is_refused() -> None:
    ratings = pl.DataFrame({"user": [1], "item": [1], "rating": [1]})
    assert "groups=, supplier= or merit=" in refusal(ratings, items=ratings)


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("rating", [1.0, np.nan], "row 1: column 'rating' must"),
        ("rating", [1.0, np.inf], "row 1: column 'rating' must be a finite number, got inf"),
        ("rating", ["1", "bad"], "row 1: column 'rating' must be a number, got 'bad'"),
        ("rating", [None, "1"], "row 0: column 'rating' must not be empty or NaN"),
        ("user", [1.5, 2.0], "row 0: column 'user' must be a whole number or text, got 1.5"),
        ("user", [2.0, np.nan], "row 1: column 'user' must"),
        ("item", ["a", None], "row 1: column 'item' must not be empty or NaN"),
        ("item", ["a", " "], "row 1: column 'item' must not be empty or NaN"),
        ("item", [True, False], "column 'item' must be whole numbers or text, got the type bool"),
    ],
)
@pytest.mark.parametrize("library", [pd, pl])
def test_bad_dataframes_are_explained_by_row(
    library: Any, column: str, values: list[Any], expected: str
) -> None:
    table: dict[str, list[Any]] = {"user": [1, 2], "item": [1, 2], "rating": [1, 2]}
    message = refusal(library.DataFrame({**table, column: values}))
    assert message.startswith("DataFrame: ")
    assert expected in message


def test_a_pandas_column_of_mixed_types_is_explained() -> None:
    frame = pd.DataFrame({"user": [1, "a"], "item": [1, 2], "rating": [1, 2]})
    assert "column 'user' mixes types" in refusal(frame)


def test_a_pandas_column_name_that_is_there_twice_is_explained() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["user", "item", "rating", "rating"])
    assert "'rating' 2 times" in refusal(frame)


def test_an_empty_dataframe_has_no_ratings() -> None:
    frame = pl.DataFrame({"user": [], "item": [], "rating": []})
    assert "there are no ratings" in refusal(frame)


@pytest.mark.parametrize("source", [None, 7, [1, 2], {"user": [1]}])
def test_what_is_no_table_at_all_is_refused(source: Any) -> None:
    assert f"got {type(source).__name__}" in refusal(source)
