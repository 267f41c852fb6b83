"""The K largest scores, with ties decided by keys and never by float noise."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.ranking import RESOLUTION, Scores, tie_keys, top_k
from faircascade.types import Items, Users


def by_sorting(scores, k, keys, rows):
    """The obvious version: sort everything by (rounded score, key)."""
    slates = []
    for user, row in enumerate(scores):
        order = sorted(
            range(len(row)), key=lambda i: (-round(row[i] / RESOLUTION), int(keys[user][i]))
        )
        slates.append([int(rows[i]) for i in order[:k]])
    return slates


@settings(max_examples=150)
@given(data=st.data())
def test_top_k_is_what_sorting_gives(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 60))
    k = data.draw(st.integers(1, m))
    levels = data.draw(st.integers(1, 8))  # few levels: many ties
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    scores = rng.integers(0, levels, size=(n, m)) * data.draw(st.sampled_from([1.0, 1e-9, 1e3]))
    scores += rng.normal(size=(n, m)) * 1e-13  # noise far below the resolution
    items = Items.of(rng.normal(size=(m, 2)))
    users = Users(ids=np.arange(n))
    ties = tie_keys(3, users.keys, 5, items.pool)
    rows, columns = np.indices((n, m))
    expected = by_sorting(scores, k, ties(rows, columns), items.pool.rows)
    found = top_k(Scores.final(scores), k, items.pool, ties)
    assert found.items.tolist() == expected
    assert np.allclose(found.scores, np.take_along_axis(scores, found.items, 1), atol=2**-32)


def test_equal_scores_are_shared_out_evenly_over_rounds() -> None:
    items, users = Items.of(np.ones((10, 2))), Users(ids=np.arange(1))
    counts = np.zeros(10)
    for t in range(1, 4001):
        ties = tie_keys(0, users.keys, t, items.pool)
        counts[top_k(Scores.final(np.ones((1, 10))), 1, items.pool, ties).items] += 1
    assert np.abs(counts - 400).max() < 5 * np.sqrt(400)
