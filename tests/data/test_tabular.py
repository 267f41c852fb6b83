"""The same ratings from every kind of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from faircascade.data.base import Ratings
from faircascade.data.load import load_dataset

TABLE: dict[str, list[Any]] = {
    "user_id": [7, 3, 7, 3],
    "item_id": ["b", "a", "a", "c"],
    "rating": [4.0, 3.5, 1.0, 5.0],
    "timestamp": [1, 2, 3, 4],
    "genre": ["x|y", "old", "new", ""],
    "label": ["L1", "L2", "L2", "L3"],
    "quality": [0.5, 2.0, 0.25, 0.0],
}
OPTIONS: dict[str, Any] = {"groups": ("genre",), "supplier": "label", "merit": "quality"}


def written(folder: Path, form: str) -> Any:
    frame = pd.DataFrame(TABLE)
    path = folder / f"ratings.{form}"
    match form:
        case "csv":
            frame.to_csv(path, index=False)
        case "tsv" | "inter":
            frame.to_csv(path, index=False, sep="\t")
        case "txt":
            frame.to_csv(path, index=False, sep=";", lineterminator="\r\n")
        case "psv":
            frame.assign(genre=frame["genre"].str.replace("|", "/")).to_csv(
                path, index=False, sep="|"
            )
        case "dat":
            rows = [list(TABLE), *zip(*TABLE.values(), strict=True)]
            path.write_text("".join("::".join(map(str, row)) + "\n" for row in rows))
        case "parquet":
            frame.to_parquet(path, index=False)
        case "pandas":
            return frame
        case "polars":
            return pl.DataFrame(TABLE)
        case "polars-lazy":
            return pl.LazyFrame(TABLE)
        case "arrow":
            return pl.DataFrame(TABLE).to_arrow()
    return path


def check(data: Ratings) -> None:
    assert data.user_ids.tolist() == [3, 7]
    assert data.user_ids.dtype == np.int64
    assert data.item_ids.tolist() == ["a", "b", "c"]
    assert data.item_ids.dtype.kind == "U"
    assert data.users.tolist() == [1, 0, 1, 0]
    assert data.items.tolist() == [1, 0, 0, 2]
    assert (data.users.dtype, data.items.dtype) == (np.int32, np.int32)
    assert data.ratings.tolist() == [4.0, 3.5, 1.0, 5.0]
    assert data.ratings.dtype == np.float32
    assert data.notes == ()


@pytest.mark.parametrize(
    "form",
    [
        *("csv", "tsv", "inter", "txt", "dat", "psv", "parquet"),
        *("pandas", "polars", "polars-lazy", "arrow"),
    ],
)
def test_every_form_gives_the_same_ratings(tmp_path: Path, form: str) -> None:
    source = written(tmp_path, form)
    data = load_dataset(source, **OPTIONS)
    check(data)
    slash = "/" if form == "psv" else "|"
    assert data.item_groups["genre"].tolist() == ["new", f"x{slash}y", "unknown"]
    assert data.item_groups["supplier"].tolist() == ["L2", "L1", "L3"]
    assert data.item_merit is not None
    assert data.item_merit.tolist() == [0.25, 0.5, 0.0]
    check(load_dataset(str(source) if isinstance(source, Path) else source))
    assert data.name == (source.name if isinstance(source, Path) else "DataFrame")


@pytest.mark.parametrize(
    "header",
    [
        "user_id,item_id,rating,timestamp",
        "userId,movieId,rating,timestamp",
        "USER_ID,Item_ID,Rating,Timestamp",
        "user_id:token,item_id:token,rating:float,timestamp:float",
        '"User-ID","ISBN","Book-Rating","x"',
        " user , item , score , t ",
        "uid,iid,stars,t",
        "reviewerID,asin,overall,unixReviewTime",
        "user_id,song_id,rating,t",
        "user_id,product_id,rating,item_name",
        "\ufeffuser_id,item_id,rating,t",
    ],
)
def test_the_usual_names_are_found(tmp_path: Path, header: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\n5,6,3,0\n4,6,2,0\n", encoding="utf-8")
    data = load_dataset(path)
    assert data.user_ids.tolist() == [4, 5]
    assert data.item_ids.tolist() == [6]
    assert data.ratings.tolist() == [3, 2]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("who,what,how,rating\n1,2,3,4\n")
    data = load_dataset(path, user="who", item="what", rating="how")
    assert (data.user_ids[0], data.item_ids[0], data.ratings[0]) == (1, 2, 3)


def test_a_file_without_a_header_gets_its_names_from_columns(tmp_path: Path) -> None:
    path = tmp_path / "u.data"
    path.write_text("196\t242\t3\t0\n186\t302\t4\t0\n")
    for columns in (("user", "item", "rating", "timestamp"), "user,item,rating,timestamp"):
        data = load_dataset(path, columns=columns)
        assert data.user_ids.tolist() == [186, 196]


def test_a_separator_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("user item rating\n1 2 3\n")
    assert len(load_dataset(path, sep=" ")) == 1


def test_an_encoding_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes("user;item;rating\nJos\u00e9;2;3\n".encode("latin-1"))
    assert load_dataset(path, encoding="latin-1").user_ids.tolist() == ["Jos\u00e9"]


def test_quoted_fields_may_hold_separators_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('user,review,item,rating\n1,"good,\nvery ""good""",2,3\n\n2,12" disc,2,4\n')
    data = load_dataset(path)
    assert data.user_ids.tolist() == [1, 2]
    assert data.ratings.tolist() == [3, 4]


def test_ids_in_text_are_integers_only_if_all_are_and_none_would_change(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n 10 ,007,1\n9,7,1\n-3,12,1\n")
    data = load_dataset(path)
    assert data.user_ids.tolist() == [-3, 9, 10]
    assert data.item_ids.tolist() == ["007", "12", "7"]


@pytest.mark.parametrize("library", [pd, pl])
def test_text_ids_of_a_dataframe_stay_text(library: Any) -> None:
    frame = library.DataFrame({"user": ["2", "10"], "item": [5, 4], "rating": [1, 2]})
    data = load_dataset(frame)
    assert data.user_ids.tolist() == ["10", "2"]
    assert data.item_ids.tolist() == [4, 5]


def test_categories_and_whole_floats_are_ids() -> None:
    frame = pd.DataFrame({"user": [2.0, 1.0], "item": ["q", "p"], "rating": [1, 2]})
    frame["item"] = frame["item"].astype(pd.CategoricalDtype(["z", "q", "p"]))
    data = load_dataset(frame)
    assert data.user_ids.tolist() == [1, 2]
    assert data.user_ids.dtype == np.int64
    assert data.item_ids.tolist() == ["p", "q"]


def test_a_dataframe_whose_ratings_are_text_or_booleans_is_read() -> None:
    text = pl.DataFrame({"user": [1, 2], "item": [1, 1], "rating": ["3.5", "4"]})
    assert load_dataset(text).ratings.tolist() == [3.5, 4]
    clicks = pl.DataFrame({"user": [1, 2], "item": [1, 1], "rating": [True, False]})
    assert load_dataset(clicks).ratings.tolist() == [1, 0]


@pytest.mark.parametrize("as_path", [True, False])
def test_groups_supplier_and_merit_come_from_an_item_table(tmp_path: Path, as_path: bool) -> None:
    ratings = pl.DataFrame({"user": [1, 1, 1], "item": [30, 4, 9], "rating": [1, 2, 3]})
    items = pd.DataFrame(
        {
            "id": [4, 30, 9, 4, 77],
            "kind": ["old", "k30", None, "k4", "k77"],
            "brand": ["A", "B", "C", "A", "D"],
            "worth": [1, 2, 3, 4, 5],
        }
    )
    table: Any = items
    if as_path:
        table = tmp_path / "items.csv"
        items.to_csv(table, index=False)
    data = load_dataset(ratings, items=table, groups="kind", supplier="brand", merit="worth")
    assert data.item_ids.tolist() == [4, 9, 30]
    assert data.item_groups["kind"].tolist() == ["k4", "unknown", "k30"]
    assert data.item_groups["supplier"].tolist() == ["A", "C", "B"]
    assert data.item_merit is not None
    assert data.item_merit.tolist() == [4, 3, 2]


def test_items_that_the_item_table_lacks_are_in_the_group_unknown() -> None:
    ratings = pl.DataFrame({"user": [1, 1], "item": ["1", "x"], "rating": [1, 2]})
    items = pl.DataFrame({"item": [1, 2], "kind": [["a", "b"], ["c"]]})
    data = load_dataset(ratings, items=items, groups=("kind",))
    assert data.item_groups["kind"].tolist() == ["a|b", "unknown"]


def test_repeats_are_counted_and_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n1,1,1\n1,1,2\n1,1,3\n")
    data = load_dataset(path)
    assert data.ratings.tolist() == [3]
    assert data.notes == ("2 ratings repeated a user and item: the last one counts",)


def test_a_file_larger_than_a_block_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faircascade.data.delimited.BLOCK_BYTES", 200)
    rows = [(f"u{i % 17}", f"i{i}", i % 5) for i in range(300)]
    for sep in (",", "::"):
        path = tmp_path / "r.txt"
        lines = [sep.join(map(str, row)) for row in [("user", "item", "rating"), *rows]]
        path.write_text("\n".join(lines))
        data = load_dataset(path)
        users = data.user_ids[data.users].tolist()
        items = data.item_ids[data.items].tolist()
        assert list(zip(users, items, data.ratings.tolist(), strict=True)) == rows
