"""Accounts of groups and suppliers, and accounts that forget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.rerankers import Ledger, Terms
from faircascade.rerankers.ledger import UNIT, exposure_units
from faircascade.rerankers.recipients import recipients_of
from tests.rerankers.asking import EVERY, catalogue

ONE, TWO, THREE = exposure_units(3).tolist()
GROUPED = catalogue(
    4,
    groups={"genre": ["a", "a|b", "b", "c"]},
    merit=np.array([1.0, 2.0, 3.0, 4.0]),
    eligible=[True, True, True, False],
)


def test_recipients_are_items_or_the_groups_of_a_column() -> None:
    alone, genres = recipients_of(GROUPED, "item"), recipients_of(GROUPED, "genre")
    assert alone.ids is GROUPED.ids
    assert genres.ids.tolist() == ["a", "b", "c"]
    assert genres.merit.tolist() == [3.0, 5.0, 4.0]
    assert genres.reachable.tolist() == [True, True, False]
    assert recipients_of(GROUPED, "genre") is genres


def test_an_unknown_column_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"by must be 'item' or a group of the items \(genre\)"):
        recipients_of(GROUPED, "supplier")


def test_an_item_in_two_groups_counts_in_both_and_gets_the_sum_or_the_mean_of_theirs() -> None:
    genres = recipients_of(GROUPED, "genre")
    assert genres.added(np.array([[1, 10, 100, 1000]])).tolist() == [[11, 110, 1000]]
    assert genres.summed(np.array([1.0, 10.0, 100.0])).tolist() == [1.0, 11.0, 10.0, 100.0]
    assert genres.mean(np.array([1.0, 10.0, 100.0])).tolist() == [1.0, 5.5, 10.0, 100.0]
    whose, into = genres.of(np.array([1, 3, 0]))
    assert (whose.tolist(), into.tolist()) == ([0, 0, 1, 2], [0, 1, 2, 0])


def test_an_account_by_group_credits_the_groups_of_what_was_shown() -> None:
    books = Ledger.of(Terms(scope="user", by="genre"), 2)
    books.enter(np.array([1]), np.array([[1, 2, 0]]), GROUPED)
    assert books.units.tolist() == [[0, 0, 0], [ONE + THREE, ONE + TWO, 0]]
    shared = Ledger.of(Terms(scope="global", by="genre"), 2)
    shared.enter(EVERY, np.array([[1, 2, 0], [3, 0, 1]]), GROUPED)
    Ledger.settle([shared])
    assert shared.units.tolist() == [[ONE + 2 * THREE + TWO, ONE + TWO + THREE, ONE]]


def test_an_account_of_appearances_counts_them_alike() -> None:
    books = Ledger.of(Terms(scope="user", discounted=False), 1)
    books.enter(EVERY, np.array([[1, 2, 0]]), GROUPED)
    assert books.exposure(EVERY, GROUPED).tolist() == [[1.0, 1.0, 1.0, 0.0]]


def test_a_group_keeps_what_it_had_when_its_items_change() -> None:
    books = Ledger.of(Terms(scope="user", by="genre"), 1)
    books.enter(EVERY, np.array([[0, 2]]), GROUPED)
    later = catalogue(2, ids=["new", "newer"], groups={"genre": ["b", "d"]})
    assert (books.exposure(EVERY, later) / UNIT).tolist() == [[TWO, 0.0]]


def test_exposure_counts_half_after_its_half_life() -> None:
    # two rounds: 1 of the first is 1/2 after two more slates that show other items
    books = Ledger.of(Terms(scope="user", half_life=2.0), 1)
    items = catalogue(2)
    for row in (0, 1, 1):
        books.enter(EVERY, np.array([[row]]), items)
    first, second = books.exposure(EVERY, items)[0]
    assert first == pytest.approx(0.5, abs=2 * UNIT)
    assert second == pytest.approx(1.0 + 0.5**0.5, abs=2 * UNIT)


def test_what_is_never_shown_again_is_forgotten_to_the_last_unit() -> None:
    books = Ledger.of(Terms(scope="global", half_life=1.0), 1)
    items = catalogue(2)
    books.enter(EVERY, np.array([[0]]), items)
    for _ in range(20):
        Ledger.settle([books])
    assert books.units.tolist() == [[0, 0]]


@settings(max_examples=40)
@given(data=st.data())
def test_an_account_that_forgets_is_the_same_in_any_cut_of_the_users(data) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    users, cut = 5, data.draw(st.integers(0, 5))
    half_life = data.draw(st.sampled_from([0.5, 3.0, 100.0]))
    by = data.draw(st.sampled_from(["item", "genre"]))
    terms = Terms(scope="global", by=by, half_life=half_life)
    whole, parts = Ledger.of(terms, users), [Ledger.of(terms, cut), Ledger.of(terms, users - cut)]
    counted = Ledger.of(terms, users)
    for _ in range(6):
        slates = np.array([rng.permutation(4)[:3] for _ in range(users)])
        whole.enter(EVERY, slates, GROUPED)
        parts[1].enter(EVERY, slates[cut:], GROUPED)
        parts[0].enter(EVERY, slates[:cut], GROUPED)
        appearances = np.zeros((4, 3), dtype=np.int64)
        for slate in slates:
            appearances[slate, np.arange(3)] += 1
        counted.enter_appearances(appearances, GROUPED)
        Ledger.settle([whole])
        Ledger.settle(parts)
        Ledger.settle([counted])
    for other in (*parts, counted):
        assert np.array_equal(other.units, whole.units)


def test_an_account_of_groups_follows_from_that_of_items() -> None:
    alone = Ledger.of("user", 1)
    grouped = Ledger.of(Terms(scope="user", by="genre"), 1)
    for ledger in (alone, grouped):
        ledger.enter(EVERY, np.array([[1, 2, 3]]), GROUPED)
    made = Ledger.of_items(grouped.terms, GROUPED, alone.units)
    assert np.array_equal(made.units, grouped.units)


def test_what_was_not_on_the_screen_is_taken_back_from_its_groups() -> None:
    for terms in (Terms(scope="user", by="genre"), Terms(scope="user", by="genre", half_life=5.0)):
        books = Ledger.of(terms, 1)
        books.enter(EVERY, np.array([[0, 1, 3]]), GROUPED)
        books.give_back(EVERY, np.array([[0, 1, 3]]), np.array([1]))
        assert books.units.tolist() == [[ONE, 0, 0]]
    shared = Ledger.of(Terms(scope="global", by="genre"), 1)
    shared.enter(EVERY, np.array([[0, 1, 3]]), GROUPED)
    Ledger.settle([shared])
    shared.give_back(EVERY, np.array([[0, 1, 3]]), np.array([2]))
    shared.absorb()
    assert shared.units.tolist() == [[ONE + TWO, TWO, 0]]
    assert not shared.fresh.any()


@pytest.mark.parametrize("half_life", [0.0, -1.0])
def test_a_half_life_is_positive(half_life: float) -> None:
    with pytest.raises(ValueError, match="half_life must be positive"):
        Terms(scope="user", half_life=half_life)
