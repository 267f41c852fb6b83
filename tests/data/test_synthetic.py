"""Generated data: the same for a seed, of the size asked for; `synthetic` is long-tailed."""

from __future__ import annotations

from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.data import synthetic_model
from faircascade.data.base import DataError, Ratings
from faircascade.data.load import load_dataset
from faircascade.data.synthetic import MOVIES, MUSIC, Generated, Synthetic, SyntheticMusic
from faircascade.data.synthetic_model import GENRES, SyntheticModel
from faircascade.environment import Environment
from faircascade.errors import ParameterError
from tests.data.likes import gini, likes_by_item, likes_by_user, same

GENERATED = pytest.mark.parametrize("kind", [Synthetic, SyntheticMusic])


@pytest.fixture(scope="module")
def default() -> Ratings:
    return Synthetic().load()


@GENERATED
def test_one_seed_gives_the_same_ratings_twice(kind: type[Generated]) -> None:
    data = kind(users=80, items=300, seed=5)
    assert same(data.load(), data.load())


@GENERATED
def test_another_seed_gives_other_ratings(kind: type[Generated]) -> None:
    data = [kind(users=80, items=300, seed=seed).load() for seed in (0, 1)]
    assert not same(*data)
    assert list(data[0].item_groups["genre"]) != list(data[1].item_groups["genre"])


@GENERATED
def test_ratings_do_not_depend_on_how_users_are_cut_into_blocks(
    kind: type[Generated], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = kind(users=40, items=100)
    whole = data.load()
    monkeypatch.setattr(synthetic_model, "_CELLS_AT_ONCE", 700)
    assert same(data.load(), whole)


@GENERATED
def test_chance_comes_from_the_seed_alone(
    kind: type[Generated], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No generator of NumPy's may be asked: its streams are not promised to stay the same."""
    data = kind(users=20, items=50, seed=4)
    before = data.load()

    def refuse(*_: object) -> None:
        raise AssertionError("a draw that is not keyed")

    for name in ("default_rng", "random", "rand", "randn", "normal", "uniform", "permutation"):
        monkeypatch.setattr(np.random, name, refuse)
    assert same(data.load(), before)


@pytest.mark.parametrize("shape", [MOVIES, MUSIC])
def test_inner_products_of_tastes_are_exact_in_any_order(
    shape: synthetic_model.ModelParameters,
) -> None:
    """So no BLAS, however it sums, can change who arrives first."""
    model = SyntheticModel.of(shape, "test", users=40, items=60, density=0.1, seed=2)
    forward = model.user_tastes @ model.item_tastes.T
    for user, item in ((0, 0), (7, 31), (39, 59)):
        products = (model.user_tastes[user] * model.item_tastes[item]).tolist()
        assert forward[user, item] == fsum(products) == sum(products) == sum(products[::-1])


def test_environments_of_one_seed_share_no_draws() -> None:
    """Popularity in one says nothing about popularity in the other."""
    m = 1000
    models = [
        SyntheticModel.of(MOVIES, kind.name, users=2, items=m, density=0.1, seed=0)
        for kind in (Synthetic, SyntheticMusic)
    ]
    ranks = [np.argsort(np.argsort(model.popularity)) for model in models]
    assert abs(np.corrcoef(ranks)[0, 1]) < 4 / np.sqrt(m)


@GENERATED
def test_the_door_for_all_data_opens_it_with_its_parameters(kind: type[Generated]) -> None:
    data = load_dataset(kind.name, users=30, items=70, seed=3)
    assert same(data, kind(users=30, items=70, seed=3).load())
    assert (data.name, data.n_users, data.n_items) == (kind.name, 30, 70)


def test_density_is_the_share_of_pairs_that_are_likes(default: Ratings) -> None:
    assert likes_by_user(default).sum() / (1000 * 2800) == pytest.approx(0.1, abs=0.001)
    thin = Synthetic(users=300, items=1000, density=0.03).load()
    assert likes_by_user(thin).sum() / (300 * 1000) == pytest.approx(0.03, abs=0.001)


def test_popularity_has_a_long_tail(default: Ratings) -> None:
    by_rank = np.sort(likes_by_item(default))[::-1]
    assert 0.55 < gini(by_rank) < 0.64
    assert 600 < by_rank[0] < 950  # the top item is liked by most users, not by all
    assert by_rank[1400] < 0.08 * by_rank[0]  # half of the items have few likes


def test_the_tail_keeps_its_shape_at_other_sizes() -> None:
    for users, items in ((120, 2800), (1000, 400), (300, 6000)):
        data = Synthetic(users=users, items=items).load()
        assert 0.5 < gini(likes_by_item(data)) < 0.68, (users, items)


def test_activity_differs_between_users(default: Ratings) -> None:
    likes = likes_by_user(default)
    assert likes.min() == pytest.approx(0.6 * 280, abs=3)
    assert 3 < likes.max() / likes.mean() < 5


def test_tastes_stand_out_of_chance(default: Ratings) -> None:
    """Without tastes, the singular values from the third on would be 25 and less."""
    A = np.zeros((default.n_users, default.n_items))
    liked = default.ratings >= 4
    A[default.users[liked], default.items[liked]] = 1
    values = np.sqrt(np.linalg.eigvalsh(A @ A.T)[::-1])
    assert values[0] == pytest.approx(290, rel=0.05)
    assert values[1] == pytest.approx(103, rel=0.1)
    assert values[9] == pytest.approx(41, rel=0.1)
    assert values[29] == pytest.approx(25, rel=0.1)


def test_ratings_are_stars_and_low_ones_are_there(default: Ratings) -> None:
    stars = np.bincount(default.ratings.astype(int), minlength=6)
    assert np.array_equal(np.unique(default.ratings), [1, 2, 3, 4, 5])
    assert 0.5 < stars[4:].sum() / stars.sum() < 0.65
    assert stars[1] < stars[2] < stars[3]


def test_genres_follow_tastes(default: Ratings) -> None:
    """A fan of one genre likes others of that genre: likes of genre-mates are correlated."""
    genre = default.item_groups["genre"]
    liked = default.ratings >= 4
    names = np.array([name.split("|")[0] for name in genre])
    assert set(names) == set(GENRES)
    assert 0.1 < np.mean(["|" in name for name in genre]) < 0.4
    in_first = names[default.items[liked]] == GENRES[0]
    share = np.bincount(default.users[liked], weights=in_first) / likes_by_user(default)
    p = in_first.mean()
    by_chance = np.sqrt(p * (1 - p) / likes_by_user(default).mean())
    assert share.std() > 3 * by_chance


def test_a_few_suppliers_have_most_items(default: Ratings) -> None:
    sizes = np.sort(np.unique(default.item_groups["supplier"], return_counts=True)[1])[::-1]
    assert 150 < len(sizes) <= 200
    assert sizes[: len(sizes) // 4].sum() > 0.5 * 2800
    assert sizes[0] < 0.2 * 2800


def test_an_environment_resembles_movielens(default: Ratings) -> None:
    env = Environment.from_ratings(default, dim=10, k=10, world="paper")
    assert len(env.users) == 1000
    assert len(env.items) > 2780
    assert env.info["items_with_zero_row"] < 30
    assert 0.39 < env.optimum(1).values.mean() < 0.42
    assert set(env.items.groups) == {"genre", "supplier"}


@settings(max_examples=40)
@given(
    kind=st.sampled_from([Synthetic, SyntheticMusic]),
    users=st.integers(2, 60),
    items=st.integers(4, 120),
    share=st.floats(1e-6, 1.0),
    seed=st.integers(0, 2**70),
)
def test_every_size_gives_a_sound_table(
    kind: type[Generated], users: int, items: int, share: float, seed: int
) -> None:
    density = share * kind.shape.max_density
    data = kind(users=users, items=items, density=density, seed=seed).load()
    assert np.array_equal(data.user_ids, np.arange(1, users + 1))
    assert np.array_equal(data.item_ids, np.arange(1, items + 1))
    pairs = data.users.astype(np.int64) * items + data.items
    assert (np.diff(pairs) > 0).all()  # in order, and no pair twice
    assert np.isin(data.ratings, [1, 2, 3, 4, 5]).all()
    likes = likes_by_user(data)
    assert likes.min() >= 2
    assert likes.max() <= max(2, int(kind.shape.most_liked * items))
    assert all(len(column) == items for column in data.item_groups.values())


@settings(max_examples=5)
@given(
    kind=st.sampled_from([Synthetic, SyntheticMusic]),
    users=st.integers(20, 60),
    items=st.integers(60, 200),
    seed=st.integers(0, 1000),
)
def test_small_environments_can_be_served(
    kind: type[Generated], users: int, items: int, seed: int
) -> None:
    data = kind(users=users, items=items, seed=seed).load()
    env = Environment.from_ratings(data, dim=4, k=5)
    assert len(env.users) == users
    assert np.isfinite(env.optimum(1).values).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": 1}, "users must be at least 2, got 1"),
        ({"items": 3}, "items must be at least 4, got 3"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"density": 0.0}, "density must be above 0 and at most 0.2, got 0.0"),
        ({"density": 0.3}, "density must be above 0 and at most 0.2, got 0.3"),
        ({"density": float("nan")}, "density must be finite, got nan"),
    ],
)
def test_a_bad_parameter_is_named_with_its_rule(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Synthetic(**options)


def test_a_size_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^users must be a whole number, got 10\.5$"):
        Synthetic(users=10.5)  # type: ignore[arg-type]


@GENERATED
def test_a_path_is_refused(kind: type[Generated]) -> None:
    with pytest.raises(DataError, match=rf"^{kind.name} .* takes no path, got 'x\.csv'$"):
        kind().load(Path("x.csv"))


def test_progress_ends_with_all_users() -> None:
    seen: list[tuple[str, int, int]] = []
    Synthetic(users=150, items=2800).load(progress=lambda *step: seen.append(step))
    assert seen[-1] == ("generating ratings", 150, 150)
    assert len(seen) > 1
