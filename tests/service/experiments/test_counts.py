"""Counts of an arm are sums by block, whatever the order."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.experiments.counts import ArmCounts, block_of
from faircascade.service.experiments.hashing import bucket_of
from faircascade.service.experiments.sequential import BLOCKS

SLATES = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(-1, 4), min_size=3, max_size=3)), max_size=20
)


@given(SLATES)
def test_slates_are_counted_as_one_by_one(slates) -> None:
    counts = ArmCounts.empty(5, blocks=4)
    counts.add_slates(
        np.array([block for block, _ in slates], dtype=np.int64),
        np.array([items for _, items in slates], dtype=np.int64).reshape(-1, 3),
    )
    for block in range(4):
        mine = [items for there, items in slates if there == block]
        assert counts.slates[block] == len(mine)
        for item in range(5):
            assert counts.appearances[block, item] == sum(s.count(item) for s in mine)
            weighed = sum(
                1 / math.log2(position + 2)
                for items in mine
                for position, shown in enumerate(items)
                if shown == item
            )
            assert abs(counts.weighed[block, item] - weighed) < 60 * 2.0**-16


def test_answers_are_counted_with_their_clicks() -> None:
    counts = ArmCounts.empty(5, blocks=4)
    counts.add_answers(np.array([1, 1, 3]), np.array([2, 0, 1]))
    assert counts.answers.tolist() == [0, 2, 0, 1]
    assert counts.clicks.tolist() == [0, 2, 0, 1]


def test_the_block_of_a_user_says_nothing_of_the_arm() -> None:
    users = [f"user-{n}" for n in range(20_000)]
    low = [user for user in users if block_of(user, "homepage") < BLOCKS // 2]
    upper = sum(bucket_of(user, "homepage", "arm", 2) for user in low)
    assert abs(upper - len(low) / 2) < 4.5 * math.sqrt(len(low)) / 2
    assert abs(len(low) - 10_000) < 4.5 * math.sqrt(5_000)
