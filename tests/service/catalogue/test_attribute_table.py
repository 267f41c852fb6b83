"""Attributes come from the columns of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from faircascade.data.base import DataError
from faircascade.service.catalogue.item_table import read_items

CSV = """item_id,f1,f2,price,sold,language,tags,title
a,1,0,3,true,de,sale|new,A song
b,0,1,,False,,new,B | side
c,1,1,9.5,,en,,
"""
EXPECTED = [
    {"price": 3.0, "sold": True, "language": "de", "tags": ["sale", "new"]},
    {"sold": False, "tags": ["new"]},
    {"price": 9.5, "language": "en"},
]


def attributes_of(path: Path, names: str, features: str | None = "f*") -> list[Any]:
    return [dict(item.attributes) for item in read_items(path, features, None, names).items]


def test_columns_of_text_have_the_kind_that_all_values_fit(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(CSV)
    assert attributes_of(tmp_path / "items.csv", "price,sold,language,tags") == EXPECTED


def test_columns_of_parquet_have_the_kind_of_their_type(tmp_path: Path) -> None:
    table = pa.table(
        {
            "item_id": ["a", "b", "c"],
            "f1": [1.0, 0.0, 1.0],
            "price": [3, None, 9.5],
            "sold": [True, False, None],
            "language": pa.array(["de", None, "en"]).dictionary_encode(),
            "tags": [["sale", "new"], ["new"], []],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "items.parquet")
    names = "price,sold,language,tags"
    assert attributes_of(tmp_path / "items.parquet", names) == EXPECTED


def test_attributes_are_no_features_and_are_named_in_the_notes(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item_id,f1,f2,price,title\na,1,0,3,A\nb,0,1,4,B\n")
    table = read_items(tmp_path / "items.csv", None, None, "pri*")
    assert table.dim == 2
    assert table.notes[1:] == ("attributes: 'price'", "not used: 'title' (--attributes keeps them)")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("colour", "--attributes must name columns of the file"),
        ("supplier", "--attributes cannot name 'supplier', which is a field"),
        ("long", r"line 2.*column 'long' must be text of at most 256 characters"),
    ],
)
def test_what_cannot_be_an_attribute_is_refused(names: str, message: str, tmp_path: Path) -> None:
    text = f"item_id,f1,supplier,long\na,1,x,{'y' * 300}\n"
    (tmp_path / "items.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        attributes_of(tmp_path / "items.csv", names, "f1")
