"""Counts are the same however they are kept, and one long slate does not ask for much room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.evaluation.audit import position_counts
from faircascade.evaluation.audit.position_counts import PositionCounter, Strip
from tests.evaluation.audit.logs import random_slates, table
from tests.evaluation.audit.test_audit import close, plain

BLOCKS, MANY = 4, 20_000


def strip(slates: list[list[int]], seed: int) -> Strip:
    """Return slates as a strip; some positions are clicked."""
    rng = np.random.default_rng(seed)
    k = max(map(len, slates))
    items = np.array([slate + [-1] * (k - len(slate)) for slate in slates], dtype=np.int32)
    there = items >= 0
    return Strip(
        items, there, there & (rng.random(items.shape) < 0.4), rng.integers(0, BLOCKS, len(items))
    )


strips = st.lists(
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=9), min_size=1, max_size=5),
    min_size=1,
    max_size=6,
)


@given(strips, st.sampled_from([0, 8, 40, 1000]), st.sampled_from([0, 1000]))
def test_counts_are_those_of_a_loop(parts, dense, whole) -> None:
    expected = np.zeros((2, 8, 10, BLOCKS), dtype=int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position_counts, "DENSE_CELLS", dense)
        patch.setattr(position_counts, "WHOLE_TABLE", whole)
        counter = PositionCounter(BLOCKS)
        for seed, slates in enumerate(parts):
            each = strip(slates, seed)
            counter.add(each)
            for row, at in np.argwhere(each.there):
                expected[0, each.items[row, at], at, each.block[row]] += 1
                expected[1, each.items[row, at], at, each.block[row]] += each.clicks[row, at]
        found = counter.counts(7, 10)
        for blocks in ([True] * 4, [True, False, True, False], [False] * 4):
            chosen = np.array(blocks)
            for counts, right in zip(found, expected, strict=True):
                got = counts.of(chosen, 8)
                got = got if isinstance(got, np.ndarray) else got.toarray()
                assert np.array_equal(got, right[..., chosen].sum(axis=-1))


def test_an_audit_is_the_same_however_counts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    long = ("u0", [f"i{i}" for i in range(40)], [2, 39])
    worth = {"worth": np.arange(1.0, 43), "genre": list("abc") * 14}
    items = pa.table({"item": [f"i{i}" for i in range(42)], **worth})
    columns: dict[str, Any] = {"items": items, "groups": ["genre"], "merit": "worth"}
    for log in (table([*random_slates(1), long]), table([long, *random_slates(1)])):
        for options in ({}, columns):
            one = fc.audit(log, **options)
            with monkeypatch.context() as patch:
                patch.setattr(position_counts, "DENSE_CELLS", 0)
                patch.setattr(position_counts, "WHOLE_TABLE", 0)
                other = fc.audit(log, **options)
            close(plain(one), plain(other))


@pytest.mark.parametrize("first", [True, False])
def test_one_long_slate_makes_no_room_for_all_items(first: bool) -> None:
    rng = np.random.default_rng(1)
    usual = Strip(
        np.array(rng.integers(0, MANY, (50_000, 5)), dtype=np.int32),
        *(np.ones((50_000, 5), dtype=bool),) * 2,
        rng.integers(0, 32, 50_000),
    )
    long = Strip(
        np.arange(1000, dtype=np.int32)[None, :],
        *(np.ones((1, 1000), dtype=bool),) * 2,
        np.array([3]),
    )
    counter = PositionCounter(32)
    for each in (long, usual) if first else (usual, long):
        counter.add(each)
    appearances, clicks = counter.counts(MANY, 1000)
    assert appearances.first.size < 2 * position_counts.DENSE_CELLS
    whole = appearances.of(np.ones(32, dtype=bool), MANY)
    assert whole.shape == (MANY, 1000)
    assert whole.sum() == clicks.of(np.ones(32, dtype=bool), MANY).sum() == 251_000
    assert whole.nnz < 252_000
