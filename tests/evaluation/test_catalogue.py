"""Items of a policy that is evaluated, from tables of all kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faircascade.data.base import DataError
from faircascade.evaluation.catalogue import read_items

VECTORS = [[0.1, 0.2], [0.3, -0.4]]
NAMES = ["a", "b"]


@pytest.mark.parametrize("column", ["features", "embedding"])
@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2)])
def test_features_may_be_one_column_of_vectors(tmp_path: Path, column: str, kind) -> None:
    table = pa.table({"item": NAMES, column: pa.array(VECTORS, kind), "price": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "items.parquet")
    found = read_items(tmp_path / "items.parquet")
    assert found.ids.tolist() == NAMES
    np.testing.assert_allclose(found.features, VECTORS, rtol=1e-6)


def test_vectors_in_a_text_file_are_json(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text('item,vector\na,"[0.1, 0.2]"\nb,"[0.3, -0.4]"\n')
    np.testing.assert_array_equal(read_items(tmp_path / "items.csv").features, VECTORS)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_vectors_in_a_data_frame_are_lists(frame) -> None:
    found = read_items(frame({"item": NAMES, "features": VECTORS}))
    np.testing.assert_array_equal(found.features, VECTORS)


def test_columns_of_numbers_are_features_and_others_are_not(tmp_path: Path) -> None:
    table = pa.table({"item": NAMES, "features": [1, 2], "x": [0.5, 0.25], "group": ["g", "h"]})
    pq.write_table(table, tmp_path / "items.parquet")
    assert read_items(tmp_path / "items.parquet").features.tolist() == [[1, 0.5], [2, 0.25]]


def test_vectors_of_several_lengths_are_refused_with_the_row(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"item": NAMES, "features": [[1.0], [1.0, 2.0]]}), tmp_path / "i.parquet"
    )
    with pytest.raises(DataError, match="must hold as many numbers in every row"):
        read_items(tmp_path / "i.parquet")
