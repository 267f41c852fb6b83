"""Groups of items from tables of their own, whatever they call and separate them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from faircascade.data.base import DataError
from faircascade.data.load import load_dataset

RATINGS = pl.DataFrame({"user": [1, 1, 2], "anime_id": [30, 4, 9], "rating": [1, 2, 3]})


def groups(items: Any, **options: Any) -> dict[str, list[str]]:
    data = load_dataset(RATINGS, items=items, **options)
    return {name: column.tolist() for name, column in data.item_groups.items()}


@pytest.mark.parametrize(
    "name", ["anime_id", "Anime_ID", "anime_ids", "AnimeId:token", "item_id", "id"]
)
def test_the_ids_of_a_table_of_items_are_found(name: str) -> None:
    items = pl.DataFrame({"title": ["a", "b", "c"], name: [4, 9, 30], "kind": ["x", "y", "z"]})
    assert groups(items, groups="kind") == {"kind": ["x", "y", "z"]}


def test_the_ids_of_a_table_of_items_can_be_named() -> None:
    items = pl.DataFrame({"id": [1, 2, 3], "code": [4, 9, 30], "kind": ["x", "y", "z"]})
    assert groups(items, groups="kind", items_id="code") == {"kind": ["x", "y", "z"]}
    with pytest.raises(DataError, match=r"column 'id' has none of the items .* items_id="):
        groups(items, groups="kind")
    with pytest.raises(DataError, match=r"no column 'cod' \(items_id=\) \(did you mean 'code'"):
        groups(items, groups="kind", items_id="cod")
    with pytest.raises(DataError, match="name it with items_id="):
        groups(items.rename({"id": "nr"}), groups="kind")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["Drama|War", "War", "Drama"], ["Drama|War", "War", "Drama"]),
        (["Drama, War", "War", "Drama"], ["Drama|War", "War", "Drama"]),
        (["Drama;War", "War; ", "Drama"], ["Drama|War", "War", "Drama"]),
        ([["Drama", "War"], ["War"], []], ["Drama|War", "War", "unknown"]),
        (["Smith, Ann", "Jones, Bob", "Lee, Kim"], ["Smith, Ann", "Jones, Bob", "Lee, Kim"]),
        (["Sci Fi", "War Film", "Drama"], ["Sci Fi", "War Film", "Drama"]),
    ],
)
def test_several_groups_of_an_item_are_told_apart(values: list[Any], expected: list[str]) -> None:
    items = pl.DataFrame({"id": [4, 9, 30], "kind": values})
    assert groups(items, groups="kind") == {"kind": expected}


def test_what_separates_groups_can_be_given() -> None:
    items = pl.DataFrame({"id": [4, 9, 30], "kind": ["a/b", "c", "d/ e"]})
    assert groups(items, groups="kind", group_sep="/") == {"kind": ["a|b", "c", "d|e"]}
    with pytest.raises(ValueError, match="group_sep must not be empty"):
        groups(items, groups="kind", group_sep="")


def test_suppliers_are_never_cut() -> None:
    items = pl.DataFrame({"id": [4, 9, 30], "brand": ["A, Inc", "A", "Inc"]})
    assert groups(items, supplier="brand") == {"supplier": ["A, Inc", "A", "Inc"]}


def test_usual_groups_need_not_be_named() -> None:
    items = pl.DataFrame({"id": [4, 9, 30], "genres": ["a", "b", "c"], "year": [1, 2, 3]})
    assert groups(items) == {"genres": ["a", "b", "c"]}
    with pytest.raises(DataError, match=r"supplier= or merit=; the columns are 'id', 'year'"):
        groups(items.drop("genres"))


def test_a_recbole_table_of_items_has_groups_of_several_tokens(tmp_path: Path) -> None:
    inter, item = tmp_path / "ml.inter", tmp_path / "ml.item"
    inter.write_text("user_id:token\titem_id:token\trating:float\n1\t5\t3\n1\t6\t4\n2\t7\t5\n")
    item.write_text(
        "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
        "5\tToy Story\t1995\tAnimation Comedy\n6\tHeat\t1995\tCrime\n7\tX\t\t\n"
    )
    named = load_dataset(inter, items=item, groups="class,release_year")
    assert named.item_groups["class"].tolist() == ["Animation|Comedy", "Crime", "unknown"]
    assert named.item_groups["release_year"].tolist() == ["1995", "1995", "unknown"]
    assert load_dataset(inter, items=item).item_groups["class"].tolist() == (
        named.item_groups["class"].tolist()
    )
