"""What a description of data counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from faircascade.data.description import describe, popularity_concentration
from faircascade.data.load import load_dataset


def test_a_description_counts_by_hand() -> None:
    """Ten items; the two most rated have 5 + 4 of 17 ratings, the others one each."""
    items = [*[0] * 5, *[1] * 4, *range(2, 10)]
    users = [*range(5), *range(4), *[0] * 8]
    frame = pl.DataFrame({"user": users, "item": items, "rating": [1 + i % 5 for i in range(17)]})
    frame = frame.with_columns(
        genre=pl.when(pl.col("item") < 5).then(pl.lit("a|b")).otherwise(pl.lit("c"))
    )
    data = load_dataset(frame, groups="genre")
    facts = describe(data)
    assert popularity_concentration(data) == pytest.approx(9 / 17)
    assert facts["top_20_percent_share"] == pytest.approx(9 / 17, abs=1e-4)
    assert (facts["users"], facts["items"], facts["ratings"]) == (5, 10, 17)
    assert facts["density"] == pytest.approx(17 / 50)
    assert facts["threshold"] == 4
    assert facts["positives"] == int((frame["rating"] >= 4).sum())
    assert facts["groups"] == {"genre": 3}
    assert sum(facts["values"].values()) == 17
    assert describe(data, threshold=5)["positives"] < facts["positives"]


def test_many_different_values_are_not_listed() -> None:
    n = 200
    frame = pl.DataFrame({"user": range(n), "item": [1] * n, "rating": np.linspace(0, 1, n)})
    facts = describe(load_dataset(frame))
    assert facts["values"] == {}
    assert facts["threshold"] == pytest.approx(0.75, abs=0.01)
    assert 0.2 < facts["positive_share"] < 0.3
