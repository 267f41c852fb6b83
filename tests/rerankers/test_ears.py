"""EARS: what a shuffle costs, how far it goes, and that it is a fair one."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate
from faircascade.metrics.exposure import exposure_b
from faircascade.metrics.tally import discounts
from faircascade.policies import EARSLinUCB, LinUCB
from faircascade.rerankers import EARS
from faircascade.rerankers.ears import shuffled_clicks, shuffled_length, stops
from tests.environments import small_environment
from tests.oracle import shuffles
from tests.rerankers.asking import catalogue, request, rerank

chances = st.lists(st.integers(0, 32).map(lambda n: Fraction(n, 32)), min_size=1, max_size=6)
patiences = st.integers(1, 16).map(lambda n: Fraction(n, 16))
tolerances = st.integers(0, 64).map(lambda n: Fraction(n, 64))


def misses(chances: list[Fraction]) -> np.ndarray:
    return 1.0 - np.array([chances], dtype=float)


@given(chances=chances, patience=patiences)
def test_expected_clicks_are_the_average_over_all_shuffles(chances, patience) -> None:
    found = shuffled_clicks(misses(chances), float(patience))
    for length in range(1, len(chances) + 1):
        expected = shuffles.shuffled(chances, length, patience)
        assert found[0, length - 1] == pytest.approx(float(expected), abs=1e-12)


@given(chances=chances, patience=patiences, tolerance=tolerances)
def test_the_prefix_is_the_longest_that_costs_little_enough(chances, patience, tolerance) -> None:
    whole = shuffles.shuffled(chances, 1, patience)
    limit = (1 - tolerance) * whole
    costs = [shuffles.shuffled(chances, n, patience) - limit for n in range(1, len(chances) + 1)]
    assume(all(abs(cost) > 1e-12 for cost in costs) or whole == 0)  # no matter of a rounding error
    found = shuffled_length(misses(chances), float(patience), float(tolerance))
    assert found.tolist() == [shuffles.longest(chances, patience, tolerance)]


def test_lists_of_several_users_are_measured_one_by_one() -> None:
    slates = [[Fraction(n, 8) for n in chances] for chances in ([7, 6, 1], [0, 0, 0], [3, 3, 3])]
    together = np.concatenate([misses(chances) for chances in slates])
    half, little = Fraction(1, 2), Fraction(1, 20)
    assert shuffled_length(together, 0.5, 0.05).tolist() == [
        shuffles.longest(chances, half, little) for chances in slates
    ]


def test_a_user_leaves_somewhere() -> None:
    # 0.1 before the first position, 0.9 * 0.1 before the second; 0.81 look at both
    assert stops(2, 0.9).tolist() == pytest.approx([0.1, 0.09, 0.81])
    assert stops(7, 1.0).tolist() == [0] * 7 + [1]


def test_a_prefix_that_loses_exactly_the_tolerance_is_too_long() -> None:
    # R = 1, 0 and g = 1/2: in order 1/2; shuffled (1/2 + 1/4) / 2 = 3/8, which is 3/4 of it
    certain = np.array([[0.0, 1.0]])
    assert shuffled_clicks(certain, 0.5).tolist() == [[0.5, 0.375]]
    assert shuffled_length(certain, 0.5, 0.25).tolist() == [1]
    assert shuffled_length(certain, 0.5, 0.26).tolist() == [2]


def test_equal_items_are_all_shuffled_at_any_tolerance_above_nothing() -> None:
    assert shuffled_length(np.full((1, 10), 0.7), 0.9, 1e-6).tolist() == [10]


SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])


@pytest.mark.parametrize(
    ("ears", "scores"),
    [
        (EARS(tolerance=0.0), SCORES),
        (EARS(tolerance=0.0), np.full(6, 0.5)),
        (EARS(tolerance=0.99), np.zeros(6)),
        (EARS(tolerance=0.99), -SCORES),
    ],
)
def test_no_tolerance_or_no_clicks_to_expect_does_not_shuffle(ears: EARS, scores) -> None:
    asked = request(items=catalogue(6), users=range(50), k=4)
    plain = rerank(EARS(tolerance=0.0), asked, scores)
    assert np.array_equal(rerank(ears, asked, scores).items, plain.items)
    assert (np.diff(plain.scores) <= 0).all()


@pytest.mark.parametrize("scores", [SCORES, np.zeros(6), [5.0, 1e-3, 0, -1, -2, -3]])
def test_tolerance_one_shuffles_everything(scores) -> None:
    # 200 users: an item that was left in place would stand first, or last, in all the slates
    asked = request(items=catalogue(6), users=range(200), k=6)
    found = rerank(EARS(tolerance=1.0), asked, scores).items
    assert all(len(np.unique(column)) == 6 for column in found.T)


@pytest.mark.parametrize("tolerance", [0.05, 0.1])
def test_scores_outside_zero_and_one_count_as_no_and_as_certain_clicks(tolerance: float) -> None:
    wild, clipped = ([5.0, 1.2, 0.5, 0.2, -3.0, -4.0], [1.0, 1.0, 0.5, 0.2, 0.0, 0.0])
    length = shuffled_length(1 - np.array([clipped]), 0.9, tolerance)[0]
    for unclipped in (wild, np.minimum(wild, 1.0), np.maximum(wild, 0.0)):
        asked = request(items=catalogue(6), users=range(50), k=6)
        plain = rerank(EARS(tolerance=0.0), asked, unclipped).items
        found = rerank(EARS(tolerance=tolerance), asked, unclipped).items
        assert np.flatnonzero((found != plain).any(axis=0)).tolist() == list(range(length))


def test_lists_too_long_for_a_table_of_sets_are_measured_as_well() -> None:
    k = 1100
    # with equal chances a shuffle costs nothing: the clicks are those of the slate as it is
    equal = np.full((1, k), 0.99)
    whole = 1 - stops(k, 0.999) @ 0.99 ** np.arange(k + 1)
    assert shuffled_clicks(equal, 0.999)[0, [0, 1, k // 2, -1]] == pytest.approx(whole, rel=1e-12)
    # of one item that everyone clicks, what counts is where it comes to stand
    one = np.ones((1, k))
    one[0, 0] = 0.0
    reached = 0.999 ** np.arange(1, k + 1)
    expected = np.cumsum(reached) / np.arange(1, k + 1)
    assert shuffled_clicks(one, 0.999)[0] == pytest.approx(expected, rel=1e-10)


def test_every_engine_clips_the_scores() -> None:
    env = small_environment(users=9, items=40, k=8)
    policy = EARSLinUCB(alpha=4.0, tolerance=0.1)  # many scores are above 1 for long
    runs = [simulate(env, policy, rounds=60, seed=1, engine=engine) for engine in ("loop", "cpu")]
    assert np.array_equal(runs[0].tally.appearances, runs[1].tally.appearances)


@pytest.mark.parametrize("policy", [EARSLinUCB(tolerance=0.3), LinUCB()])
def test_lists_of_more_than_a_thousand_items(policy) -> None:
    env = small_environment(users=2, items=1150, k=1100)
    runs = [simulate(env, policy, rounds=2, seed=1, engine=engine) for engine in ("loop", "cpu")]
    for name, counted in vars(runs[0].tally).items():
        assert np.array_equal(counted, getattr(runs[1].tally, name)), name


def test_items_below_the_prefix_stay_where_they_are() -> None:
    scores = [0.5, 0.5, 0.5, 0.2, 0.1, 0.0]
    length = shuffled_length(1 - np.array([scores[:5]]), 0.9, 0.001)
    assert length.tolist() == [3]
    asked = request(items=catalogue(6), users=range(200), k=5)
    found = rerank(EARS(tolerance=0.001), asked, scores).items
    assert (found[:, 3:] == [3, 4]).all()
    assert (np.sort(found[:, :3]) == [0, 1, 2]).all()
    assert len(np.unique(found, axis=0)) == 6


@pytest.mark.parametrize("by", ["user", "round"])
def test_every_order_is_as_likely_as_any_other(by: str) -> None:
    # 24 orders over 4,800 slates: the chi-square statistic has mean 23 and sd sqrt(46)
    many = np.arange(1, 4801)
    items = catalogue(4)
    if by == "user":
        asked = request(items=items, users=many, k=4)
        found = rerank(EARS(tolerance=1.0), asked, SCORES[:4]).items
    else:
        found = np.concatenate(
            [
                rerank(
                    EARS(tolerance=1.0),
                    request(items=items, users=[7], k=4, round=t),
                    SCORES[:4],
                ).items
                for t in many
            ]
        )
    orders, counts = np.unique(found, axis=0, return_counts=True)
    assert len(orders) == 24
    assert abs(((counts - 200) ** 2 / 200).sum() - 23) < 5 * np.sqrt(46)


def test_shuffles_of_two_users_and_of_two_rounds_have_nothing_to_do_with_each_other() -> None:
    # 6 x 6 pairs of orders over 7,200 rounds: mean 35 and sd sqrt(70) where they are independent
    items, rounds = catalogue(3), np.arange(1, 7202)
    place = {order: n for n, order in enumerate(permutations(range(3)))}

    def orders(user: str) -> np.ndarray:
        # one request for a user in many rounds, as a ranker could ask
        asked = request(items=items, users=[user] * len(rounds), k=3, round=rounds)
        found = rerank(EARS(tolerance=1.0), asked, SCORES[:3]).items
        return np.array([place[tuple(row)] for row in found.tolist()])

    ann, bob = orders("ann"), orders("bob")
    for pair in ((ann[1:], bob[1:]), (ann[1:], ann[:-1])):
        counts = np.bincount(6 * pair[0] + pair[1], minlength=36)
        assert abs(((counts - 200) ** 2 / 200).sum() - 35) < 5 * np.sqrt(70)


def test_another_seed_shuffles_otherwise() -> None:
    found = [
        rerank(
            EARS(tolerance=1.0),
            request(items=catalogue(6), users=range(20), k=6, seed=seed),
            SCORES,
        ).items
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


@settings(max_examples=40)
@given(
    order=st.permutations(range(8)),
    tolerance=st.sampled_from([0.01, 0.1, 1.0]),
    seed=st.integers(0, 99),
)
def test_relabelling_items_relabels_the_slates(order, tolerance: float, seed: int) -> None:
    scores = np.random.default_rng(seed).uniform(-0.2, 1.2, size=8)
    names = np.array([f"item-{i}" for i in range(8)])
    shown = []
    for rows in (np.arange(8), np.array(order)):
        asked = request(items=catalogue(8, ids=names[rows]), users=range(5), k=4, seed=seed)
        found = rerank(EARS(tolerance=tolerance), asked, scores[rows])
        shown.append(asked.pool.items.ids[found.items])
    assert np.array_equal(*shown)


@settings(max_examples=40)
@given(tolerance=st.floats(0, 1), patience=st.floats(0.01, 1), seed=st.integers(0, 99))
def test_the_items_stay_the_same_and_take_their_scores_along(tolerance, patience, seed) -> None:
    scores = np.random.default_rng(seed).normal(size=(5, 9))
    asked = request(items=catalogue(9), users=range(5), k=6, seed=seed)
    plain = rerank(EARS(tolerance=0.0), asked, scores)
    found = rerank(EARS(tolerance=tolerance, patience=patience), asked, scores)
    assert np.array_equal(np.sort(found.items), np.sort(plain.items))
    assert np.allclose(found.scores, np.take_along_axis(scores, found.items, 1), atol=2**-32)


def test_with_everything_shuffled_positions_do_not_matter_to_equality() -> None:
    # E_P of an item with n appearances is n times the mean discount, give or take sqrt(n) times
    # its deviation; a Gini index moves at most by the sum of what the shares move
    env = small_environment(users=4, items=30, k=5)
    shuffled = simulate(env, EARSLinUCB(tolerance=1.0), rounds=1000, seed=1)
    shown, discount = exposure_b(shuffled.record), discounts(5)
    error = np.sqrt(shown).sum() * discount.std() / (discount.mean() * shown.sum())
    assert abs(shuffled.equality_b - shuffled.equality_p) < 5 * error
    plain = simulate(env, LinUCB(), rounds=1000, seed=1)
    assert plain.equality_b - plain.equality_p > 5 * error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 0.0}, r"patience must be in \(0, 1\], got 0.0"),
        ({"patience": 1.5}, r"patience must be in \(0, 1\], got 1.5"),
        ({"patience": float("nan")}, r"patience must be finite"),
        ({"tolerance": -0.1}, "tolerance must be between 0 and 1, got -0.1"),
        ({"tolerance": 1.1}, "tolerance must be between 0 and 1, got 1.1"),
        ({"tolerance": float("nan")}, "tolerance must be finite"),
    ],
)
def test_wrong_parameters_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EARS(**options)
