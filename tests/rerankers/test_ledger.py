"""The account of exposure: whole units, columns that follow the catalogue, parts that add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import loop, simulate
from faircascade.metrics.tally import discounts
from faircascade.policies import FRMLinUCB
from faircascade.rerankers import Ledger
from faircascade.rerankers.ledger import UNIT, exposure_units
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue

ONE, TWO = exposure_units(2).tolist()
"""What an appearance at position 1, and at position 2, counts."""


def ledger(scope="user", users: int = 2, ids=("a", "b", "c")) -> Ledger:
    """An account that knows its items."""
    empty = Ledger.of(scope, users)
    empty.follow(np.array(ids))
    return empty


def test_an_appearance_counts_its_discount_to_within_half_a_unit() -> None:
    units = exposure_units(10)
    assert units.dtype == np.int64
    assert units[0] * UNIT == 1.0
    assert units[2] * UNIT == 0.5
    assert np.abs(units * UNIT - discounts(10)).max() <= UNIT / 2


def test_lists_are_entered_by_user_and_position() -> None:
    items, books = catalogue(3), Ledger.of("user", 2)
    books.enter(EVERY, np.array([[2, 0], [0, 1]]), items)
    books.enter(np.array([1]), np.array([[1, 0]]), items)
    assert books.units.tolist() == [[TWO, 0, ONE], [ONE + TWO, TWO + ONE, 0]]


def test_a_global_account_learns_of_a_round_when_it_is_over() -> None:
    items, books = catalogue(3), Ledger.of("global", 2)
    books.enter(EVERY, np.array([[2, 0], [0, 2]]), items)
    assert books.units.tolist() == [[0, 0, 0]]
    assert books.fresh.tolist() == [TWO + ONE, 0, ONE + TWO]
    Ledger.settle([books])
    assert books.units.tolist() == [[TWO + ONE, 0, ONE + TWO]]
    assert books.fresh.tolist() == [0, 0, 0]


def test_settling_tells_every_part_what_all_parts_showed() -> None:
    items = catalogue(3)
    parts = [Ledger.of("global", users) for users in (2, 1, 3)]  # nobody came to the third
    parts[0].enter(EVERY, np.array([[0, 1], [0, 2]]), items)
    parts[1].enter(EVERY, np.array([[2, 0]]), items)
    Ledger.settle(parts)
    Ledger.settle(parts)  # nothing new
    for part in parts:
        assert part.units.tolist() == [[ONE + ONE + TWO, TWO, TWO + ONE]]
        assert part.fresh.tolist() == [0, 0, 0]


@settings(max_examples=40)
@given(data=st.data())
def test_exposure_adds_up_to_the_same_in_any_cut_and_order(data) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    users, m, k = data.draw(st.integers(1, 6)), 7, 3
    slates = np.array([[rng.permutation(m)[:k] for _ in range(users)] for _ in range(4)])
    order = data.draw(st.permutations(range(4)))
    cut = data.draw(st.integers(0, users))
    items = catalogue(m)
    whole = Ledger.of("user", users)
    for t in range(4):
        whole.enter(EVERY, slates[t], items)
    halves = [Ledger.of("user", cut), Ledger.of("user", users - cut)]
    for t in order:
        halves[1].enter(EVERY, slates[t, cut:], items)
        halves[0].enter(EVERY, slates[t, :cut], items)
    assert np.array_equal(Ledger.join(halves).units, whole.units)
    shared = [Ledger.of("global", cut), Ledger.of("global", users - cut)]
    for t in order:
        shared[0].enter(EVERY, slates[t, :cut], items)
        shared[1].enter(EVERY, slates[t, cut:], items)
        Ledger.settle(shared)
    assert np.array_equal(shared[0].units[0], whole.units.sum(axis=0))
    assert whole.units.sum() == 4 * users * exposure_units(k).sum()


def test_columns_follow_items_that_come_go_and_move() -> None:
    books = ledger(ids=("a", "b", "c"))
    books.units[:] = [[1, 2, 3], [4, 5, 6]]
    books.follow(np.array(["c", "new", "a"]))
    assert books.units.tolist() == [[3, 0, 1], [6, 0, 4]]
    books.follow(np.array(["a", "b", "c"]))  # b is back, and starts with nothing
    assert books.units.tolist() == [[1, 0, 3], [4, 0, 6]]
    assert books.fresh.tolist() == [0, 0, 0]


def test_exposure_of_the_current_round_moves_along() -> None:
    books = ledger("global")
    books.fresh[:] = [1, 2, 3]
    books.follow(np.array(["c", "a"]))
    assert books.fresh.tolist() == [3, 1]
    assert books.units.tolist() == [[0, 0]]


def test_numbers_and_their_text_are_the_same_item() -> None:
    # a ranker that takes over a simulation names its items by text
    books = ledger(ids=np.arange(12))
    books.units[:] = np.arange(24).reshape(2, 12)
    books.follow(np.arange(12).astype(str))
    assert np.array_equal(books.units, np.arange(24).reshape(2, 12))


def test_parts_are_joined_in_their_order_over_all_their_items() -> None:
    first, second, fresh = ledger(ids=("a", "b")), ledger(ids=("b", "c"), users=1), ledger(users=1)
    first.units[:] = [[1, 2], [3, 4]]
    second.units[:] = [[5, 6]]
    joined = Ledger.join([first, second, Ledger.of("user", 1), fresh])
    assert joined.ids.tolist() == ["a", "b", "c"]
    assert joined.units.tolist() == [[1, 2, 0], [3, 4, 0], [0, 5, 6], [0, 0, 0], [0, 0, 0]]


def test_parts_that_never_saw_an_item_can_be_joined() -> None:
    joined = Ledger.join([Ledger.of("user", 2), Ledger.of("user", 1)])
    assert joined.units.shape == (3, 0)


def test_taking_users_copies_their_rows_and_nothing_else() -> None:
    books = ledger(users=3)
    books.units[:] = np.arange(9).reshape(3, 3)
    for rows in (slice(1, 3), np.array([2, 0])):
        taken = books.take(rows)
        assert np.array_equal(taken.units, books.units[rows])
        taken.units += 1
        assert np.array_equal(books.units, np.arange(9).reshape(3, 3))


def test_taking_users_of_a_global_account_keeps_all_of_it() -> None:
    books = ledger("global", users=3)
    books.units[:], books.fresh[:] = [[7, 8, 9]], [1, 2, 3]
    taken = books.take(slice(1, 2))
    assert taken.units.tolist() == [[7, 8, 9]]
    assert taken.fresh.tolist() == [1, 2, 3]
    joined = Ledger.join([books.take(slice(0, 1)), taken])
    assert joined.units.tolist() == [[7, 8, 9]]


@pytest.mark.parametrize("scope", ["user", "global"])
def test_an_account_is_restored_from_its_arrays(scope) -> None:
    books = ledger(scope)
    books.units += 5
    back = Ledger.restore(scope, {name: a.copy() for name, a in books.arrays().items()})
    assert back.scope == scope
    assert back.ids.tolist() == ["a", "b", "c"]
    assert np.array_equal(back.units, books.units)
    items = catalogue(3, ids=["a", "b", "c"])
    for account in (books, back):
        account.enter(EVERY, np.array([[0, 1], [2, 1]]), items)
    Ledger.settle([books])
    Ledger.settle([back])
    assert np.array_equal(back.units, books.units)


@pytest.mark.parametrize("scope", ["user", "global"])
def test_an_account_of_nothing_is_stored_the_same_whether_or_not_it_was_looked_at(scope) -> None:
    looked, untouched = ledger(scope).arrays(), Ledger.of(scope, 2).arrays()
    for name, array in untouched.items():
        assert (looked[name].dtype, looked[name].shape) == (array.dtype, array.shape)


def test_worth_is_exposure_by_merit() -> None:
    items = catalogue(3, merit=np.array([1.0, 0.5, 0.25]))
    books = Ledger.of("user", 2)
    books.enter(np.array([1]), np.array([[1, 2]]), items)
    assert books.worth(EVERY, items).tolist() == [[0, 0, 0], [0, 2 * ONE, 4 * TWO]]
    assert books.worth(np.array([1]), items).tolist() == [[0, 2 * ONE, 4 * TWO]]
    shared = Ledger.of("global", 2)
    shared.enter(EVERY, np.array([[1], [2]]), items)
    Ledger.settle([shared])
    assert shared.worth(EVERY, items).tolist() == [[0, 2 * ONE, 4 * ONE]]


@pytest.mark.parametrize("scale", [2.0**-50, 2.0**-20, 2.0**10, 2.0**30])
@pytest.mark.parametrize("variant", ["exposure-charge", "reorder"])
def test_the_scale_of_merit_does_not_matter(variant: str, scale: float) -> None:
    # merit may be a share, a count of plays or a turnover; a power of two changes no rounding
    env = small_environment(users=4, items=20, k=3)
    scaled = replace(env, items=replace(env.items, merit=env.items.merit * scale))
    policy = FRMLinUCB(variant=variant, eta=0.05)
    first, other = (
        simulate(environment, policy, rounds=30, seed=1).record for environment in (env, scaled)
    )
    assert np.array_equal(first.appearances, other.appearances)


@pytest.mark.parametrize("scope", ["user", "global"])
@pytest.mark.parametrize("variant", ["exposure-charge", "reorder"])
@pytest.mark.parametrize("activity", [1.0, 0.4])
def test_the_account_of_a_run_is_what_its_tally_counted(
    variant: str, scope, activity: float, monkeypatch
) -> None:
    monkeypatch.setattr(loop, "SHARD", 2)  # so that some shards stay empty in some rounds
    env = small_environment(users=5, items=12, k=4)
    policy = FRMLinUCB(variant=variant, ledger=scope, eta=0.1)
    result = simulate(env, policy, rounds=20, seed=1, engine="loop", activity=activity, threads=2)
    counted = result.record.appearances @ exposure_units(4)
    assert result.state.ledger.units.sum(axis=0).tolist() == counted.tolist()
    assert result.state.ledger.units.shape == (5 if scope == "user" else 1, 12)
