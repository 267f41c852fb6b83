"""The generated music: hits that everybody rated, so that merit varies little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.data.base import Ratings
from faircascade.data.prepare import binarise, split_positives
from faircascade.data.synthetic import Synthetic, SyntheticMusic
from faircascade.data.synthetic_model import GENRES
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.policies import LinUCB, Optimal, Random
from tests.data.likes import gini, likes_by_item, likes_by_user


@pytest.fixture(scope="module")
def default() -> Ratings:
    return SyntheticMusic().load()


@pytest.fixture(scope="module")
def env(default: Ratings) -> Environment:
    return Environment.from_ratings(default, dim=10, k=10, world="paper")


def test_it_says_everywhere_that_it_is_generated(default: Ratings, env: Environment) -> None:
    assert default.name.startswith("synthetic")
    assert SyntheticMusic.summary.startswith("generated, no Yahoo! data")
    assert "nothing of Yahoo! Music is in it" in default.notes[0]
    assert env.info["notes"] == list(default.notes)  # reports and the command line print these


@pytest.mark.parametrize("density", [0.1, 0.3, 0.45, 0.5])
def test_density_is_the_share_of_pairs_that_are_likes(density: float) -> None:
    """A little less at the upper end, where some users would like more songs than they may."""
    data = SyntheticMusic(users=400, items=600, density=density).load()
    assert likes_by_user(data).sum() / (400 * 600) == pytest.approx(density, rel=0.015)


def test_everybody_rated_nearly_everything(default: Ratings) -> None:
    rated = np.bincount(default.users)
    assert rated.min() == 950
    assert rated.max() == 1000


def test_users_differ_in_how_much_they_like(default: Ratings) -> None:
    shares = likes_by_user(default) / 1000
    assert 0.05 < shares.min() < 0.15
    assert shares.max() == 0.9
    assert 0.15 < shares.std() < 0.22


def test_every_song_is_popular(default: Ratings) -> None:
    likes = likes_by_item(default)
    assert likes.max() / likes.min() < 2
    assert gini(likes) < 0.07


@settings(max_examples=5)
@given(users=st.integers(200, 400), items=st.integers(100, 500), seed=st.integers(0, 1000))
def test_songs_stay_equally_popular_at_other_sizes(users: int, items: int, seed: int) -> None:
    likes = likes_by_item(SyntheticMusic(users=users, items=items, seed=seed).load())
    assert gini(likes) < 0.09
    assert likes.max() / likes.min() < 3


def test_every_song_has_likes_in_both_halves(default: Ratings, env: Environment) -> None:
    split = split_positives(binarise(default, 4.0), 0.5, seed=0)
    for half in (split.train, split.test):
        assert half.shape == (1000, 1000)
        assert half.sum(axis=0).min() > 100
    assert env.info["items_with_zero_row"] == env.info["items_with_floored_merit"] == 0


def test_songs_have_one_genre_and_one_artist(default: Ratings) -> None:
    assert set(default.item_groups) == {"genre", "supplier"}  # as yahoo-r2 has them
    assert set(default.item_groups["genre"]) == set(GENRES)
    artists, songs = np.unique(default.item_groups["supplier"], return_counts=True)
    assert all(artist.startswith("artist-") for artist in artists)
    assert 200 < len(artists) <= 250
    assert songs.max() < 50


def test_a_random_policy_is_nearly_as_equitable_as_it_is_equal(env: Environment) -> None:
    result = simulate(env, Random(), rounds=20, seed=1, checkpoints=1)
    assert result.equality_b > 0.95
    assert 0.94 * result.equality_b < result.equity_b < result.equality_b
    assert 0.94 * result.equality_p < result.equity_p < result.equality_p


def test_that_sets_it_apart_from_the_long_tail() -> None:
    data = Synthetic(users=300, items=800).load()
    result = simulate(Environment.from_ratings(data), Random(), rounds=20, seed=1, checkpoints=1)
    assert result.equity_b < 0.6 * result.equality_b


def test_linucb_is_nearly_as_equitable_as_it_is_equal(env: Environment) -> None:
    result = simulate(
        env.take(slice(0, 100)), LinUCB(reading="reference"), rounds=200, seed=1, checkpoints=1
    )
    assert result.equity_b == pytest.approx(result.equality_b, rel=0.05)
    assert result.equity_p == pytest.approx(result.equality_p, rel=0.05)


@pytest.mark.parametrize(
    ("dim", "k", "clicks", "equality_b"),
    [(10, 5, 0.1802, 0.3602), (10, 10, 0.3154, 0.4469), (20, 10, 0.3374, 0.6092)],
)
def test_optimal_slates_are_near_what_was_published(
    default: Ratings, dim: int, k: int, clicks: float, equality_b: float
) -> None:
    """LinUCB's published values after 50,000 rounds, when it serves nearly optimal slates."""
    model = Environment.from_ratings(default, dim=dim, k=k, world="paper")
    assert model.optimum(1).values.mean() == pytest.approx(clicks, rel=0.1)
    result = simulate(model, Optimal(), rounds=1, seed=1, checkpoints=1)
    assert result.equality_b == pytest.approx(equality_b, abs=0.06)
    assert result.equity_b == pytest.approx(result.equality_b, rel=0.03)


@pytest.mark.parametrize("density", [0.0, 0.51, float("nan")])
def test_a_density_out_of_range_is_named(density: float) -> None:
    with pytest.raises(ValueError, match=r"^density must be"):
        SyntheticMusic(density=density)
