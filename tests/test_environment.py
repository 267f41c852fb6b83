"""From ratings to an environment: spec step by step, against dense and obvious versions."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.data import factors
from faircascade.data.base import DataError, Ratings
from faircascade.data.factors import truncated_svd
from faircascade.data.prepare import binarise, sample_users, split_positives
from faircascade.environment import Environment
from faircascade.errors import UnknownParameterError
from faircascade.types import Users
from tests.environments import small_environment


def ratings(n_users=40, n_items=30, seed=0, **options) -> Ratings:
    """A table in which every user has rated about a third of the items."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(n_users, 3)) @ rng.normal(size=(3, n_items))
    rated = rng.uniform(size=(n_users, n_items)) < 0.4
    users, items = np.nonzero(rated)
    stars = np.clip(np.rint(3.6 + taste[users, items]), 1, 5)
    options.setdefault("name", "toy")
    return Ratings(
        user_ids=np.arange(100, 100 + n_users),
        item_ids=np.arange(n_items) * 7,
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        ratings=stars.astype(np.float32),
        **options,
    )


def reordered(table: Ratings, seed: int) -> Ratings:
    order = np.random.default_rng(seed).permutation(len(table))
    return Ratings(
        name=table.name,
        user_ids=table.user_ids,
        item_ids=table.item_ids,
        users=table.users[order],
        items=table.items[order],
        ratings=table.ratings[order],
    )


def test_the_most_active_users_are_taken_and_ties_go_to_the_smaller_id() -> None:
    table = Ratings(
        name="t",
        user_ids=np.array([1, 2, 3, 4]),
        item_ids=np.array([1, 2]),
        users=np.array([0, 1, 1, 2, 2, 3], dtype=np.int32),
        items=np.array([0, 0, 1, 0, 1, 0], dtype=np.int32),
        ratings=np.full(6, 5, dtype=np.float32),
    )
    assert sample_users(table, 3, "active", 0).user_ids.tolist() == [1, 2, 3]
    assert sample_users(table, 2, "active", 0).user_ids.tolist() == [2, 3]
    assert sample_users(table, 9, "active", 0).user_ids.tolist() == [1, 2, 3, 4]


def test_activity_counts_all_ratings_not_only_positives() -> None:
    table = Ratings(
        name="t",
        user_ids=np.array([1, 2]),
        item_ids=np.array([1, 2, 3]),
        users=np.array([0, 0, 0, 1, 1], dtype=np.int32),
        items=np.array([0, 1, 2, 0, 1], dtype=np.int32),
        ratings=np.array([1, 1, 5, 5, 5], dtype=np.float32),
    )
    assert sample_users(table, 1, "active", 0).user_ids.tolist() == [1]


def test_random_sampling_is_uniform_seeded_and_independent_of_order() -> None:
    table = ratings()
    first = sample_users(table, 10, "random", 3)
    assert (
        first.user_ids.tolist()
        == sample_users(reordered(table, 1), 10, "random", 3).user_ids.tolist()
    )
    taken = np.zeros(40)
    for seed in range(400):
        taken[sample_users(table, 10, "random", seed).user_ids - 100] += 1
    assert np.abs(taken - 100).max() < 5 * np.sqrt(100 * 0.75)


def test_binarising_keeps_positives_and_drops_items_without_any() -> None:
    table = ratings()
    kept = binarise(table, 4)
    assert (kept.ratings >= 4).all()
    assert len(kept) == (table.ratings >= 4).sum()
    liked = np.unique(table.item_ids[table.items[table.ratings >= 4]])
    assert kept.item_ids.tolist() == liked.tolist()
    with pytest.raises(
        DataError, match=r"toy: no positives .* highest rating is 5, the threshold 6"
    ):
        binarise(table, 6)


@settings(max_examples=20)
@given(share=st.floats(0.05, 0.95), seed=st.integers(0, 100))
def test_each_user_is_split_by_floor_and_independently_of_row_order(
    share: float, seed: int
) -> None:
    positives = binarise(ratings(), 4)
    split = split_positives(positives, share, seed)
    counts = np.bincount(positives.users)
    assert np.array_equal(np.asarray(split.train.sum(axis=1)).ravel(), np.floor(share * counts))
    whole = (split.train + split.test).toarray()
    assert whole.max() == 1
    assert whole.sum() == len(positives)
    again = split_positives(reordered(positives, seed), share, seed)
    assert (again.train != split.train).nnz == 0


def test_features_and_preferences_match_dense_svds() -> None:
    table = ratings()
    env = Environment.from_ratings(table, dim=3, k=4, seed=5, world="paper")
    positives = binarise(table, 4)
    split = split_positives(positives, 0.5, 5)
    _, S, Vt = np.linalg.svd(split.train.toarray(), full_matrices=False)
    V = Vt[:3].T
    V = V * np.where(V.sum(axis=0) < 0, -1, 1)
    X = V * S[:3]
    X = X / np.linalg.norm(X, axis=1, keepdims=True) / np.sqrt(2)
    assert np.allclose(env.items.features[env.items.eligible], X[env.items.eligible], atol=1e-8)
    U, _, Wt = np.linalg.svd(split.test.toarray(), full_matrices=False)
    signs = np.sign((Wt[:3].T * V).sum(axis=0))
    assert np.allclose(env.preferences, U[:, :3] * signs, atol=1e-8)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_rows_are_as_long_as_the_factorisation_makes_them_to_a_power(power: float) -> None:
    def lengths(power: float) -> np.ndarray:
        env = Environment.from_ratings(ratings(), dim=3, k=4, popularity_power=power)
        return np.linalg.norm(env.items.features[env.items.eligible], axis=1)

    assert lengths(power).max() == pytest.approx(1 / np.sqrt(2))
    assert np.allclose(lengths(power) * np.sqrt(2), (lengths(1.0) * np.sqrt(2)) ** power)


def test_an_item_unseen_in_training_is_kept_out_or_kept() -> None:
    # item 7 * 29 is liked by one user only; with some seed its positive falls into the test half
    table = ratings()
    lonely = table.items == 29
    keep = ~lonely | (np.cumsum(lonely) == 1)
    only = Ratings(
        name="toy",
        user_ids=table.user_ids,
        item_ids=table.item_ids,
        users=table.users[keep],
        items=table.items[keep],
        ratings=np.where(table.items[keep] == 29, 5, table.ratings[keep]).astype(np.float32),
    )
    for seed in range(20):
        env = Environment.from_ratings(only, dim=3, k=4, seed=seed)
        if env.info["items_with_zero_row"]:
            break
    row = env.items.ids.tolist().index(7 * 29)
    assert not env.items.features[row].any()
    assert not env.items.eligible[row]
    assert len(env.items) == 30
    kept = Environment.from_ratings(only, dim=3, k=4, seed=seed, zero_rows="keep")
    assert kept.items.eligible.all()


def test_alignments() -> None:
    table = ratings()
    environments = {
        align: Environment.from_ratings(table, dim=3, k=4, align=align)
        for align in ("sign", "none", "procrustes")
    }
    norms = {a: np.linalg.norm(env.preferences, axis=1) for a, env in environments.items()}
    assert np.allclose(norms["sign"], norms["none"])
    assert np.allclose(norms["sign"], norms["procrustes"])  # a rotation keeps lengths
    assert np.allclose(
        np.abs(environments["sign"].preferences), np.abs(environments["none"].preferences)
    )
    with pytest.raises(ValueError, match="align must be one of sign, none, procrustes, got 'x'"):
        Environment.from_ratings(table, dim=3, k=4, align="x")


def test_least_squares_preferences_solve_the_normal_equations() -> None:
    env = Environment.from_ratings(ratings(), dim=3, k=4, world="paper", preferences="lstsq")
    split = split_positives(binarise(ratings(), 4), 0.5, 0)
    X = env.items.features
    residual = split.test.toarray() - env.preferences @ X.T
    assert np.allclose(residual @ X, 0, atol=1e-9)


def test_merit_is_the_mean_low_rank_relevance_floored() -> None:
    env = Environment.from_ratings(ratings(), dim=3, k=4, merit_floor=0.2)
    whole = np.zeros((40, 30))
    positives = binarise(ratings(), 4)
    whole[positives.users, positives.items] = 1
    U, S, Vt = np.linalg.svd(whole[: positives.n_users, : positives.n_items], full_matrices=False)
    dense = ((U[:, :3] * S[:3]) @ Vt[:3]).mean(axis=0)
    assert np.allclose(env.items.merit, np.maximum(dense, 0.2), atol=1e-8)
    assert env.info["items_with_floored_merit"] == (dense < 0.2).sum()


def test_merit_sources() -> None:
    table = ratings(item_merit=np.linspace(1, 2, 30))
    assert Environment.from_ratings(table, dim=3, k=4).info["merit"] == "column"
    popularity = Environment.from_ratings(table, dim=3, k=4, merit="popularity")
    assert popularity.items.merit.max() <= 1
    given_ = Environment.from_ratings(table, dim=3, k=4, merit=lambda s: np.full(30, 3.0))
    assert (given_.items.merit == 3).all()
    with pytest.raises(DataError, match="toy: has no merit column"):
        Environment.from_ratings(ratings(), dim=3, k=4, merit="column")
    with pytest.raises(ValueError, match="merit must be 'svd', 'popularity' or 'column', got 'x'"):
        Environment.from_ratings(ratings(), dim=3, k=4, merit="x")


def test_merit_given_for_every_item_of_the_ratings_follows_them_into_the_catalogue() -> None:
    table = ratings()
    few = Environment.from_ratings(table, dim=3, k=4, users=5, merit=table.item_ids + 1.0)
    assert np.array_equal(few.items.merit, few.items.ids + 1.0)
    assert few.info["users_without_positives"] == 0


def test_a_matrix_of_low_rank_is_factorised_the_same_every_time() -> None:
    # 20 users like all 15 items: rank one, whatever dim asks for
    users, items = (part.ravel().astype(np.int32) for part in np.indices((20, 15)))
    table = Ratings(
        name="flat",
        user_ids=np.arange(20),
        item_ids=np.arange(15),
        users=users,
        items=items,
        ratings=np.full(300, 5, dtype=np.float32),
    )
    environments = [Environment.from_ratings(table, dim=4, k=3) for _ in range(2)]
    assert environments[0].fingerprint == environments[1].fingerprint
    whole = split_positives(table, 0.5, 0)
    both = truncated_svd(whole.train + whole.test, 4)
    assert np.count_nonzero(both.S) == 1
    assert not both.V[:, 1:].any()


@pytest.mark.parametrize("limit", [0, 3000])
def test_both_ways_to_factorise_agree_with_a_dense_one(limit: int, monkeypatch) -> None:
    monkeypatch.setattr(factors, "_GRAM_LIMIT", limit)
    for table in (ratings(40, 30), ratings(25, 60)):
        matrix = split_positives(binarise(table, 4), 0.5, 0).train
        found = truncated_svd(matrix, 5)
        _, S, _ = np.linalg.svd(matrix.toarray())
        assert np.allclose(found.S, S[:5])
        assert np.allclose(found.U.T @ found.U, np.eye(5), atol=1e-10)
        assert np.allclose(matrix @ found.V, found.U * found.S, atol=1e-10)


def test_too_few_positives_to_split_are_told(tmp_path) -> None:
    table = Ratings(
        name="thin",
        user_ids=np.arange(6),
        item_ids=np.arange(6),
        users=np.arange(6, dtype=np.int32),
        items=np.arange(6, dtype=np.int32),
        ratings=np.full(6, 5, dtype=np.float32),
    )
    with pytest.raises(DataError, match="one half of the positives is empty"):
        Environment.from_ratings(table, dim=2, k=1)


def test_broken_tables_are_named() -> None:
    good = ratings()
    with pytest.raises(DataError, match="toy: items must be rows from 0 to 29"):
        replace(good, items=good.items + 1)
    with pytest.raises(DataError, match="toy: users, items and ratings must be equally long"):
        replace(good, items=good.items[1:])
    twice = replace(
        good,
        users=np.append(good.users, good.users),
        items=np.append(good.items, good.items),
        ratings=np.append(good.ratings, good.ratings),
    )
    with pytest.raises(DataError, match="toy: a user rates an item twice"):
        Environment.from_ratings(twice, dim=3, k=4)


def test_users_can_be_taken_only_once() -> None:
    with pytest.raises(ValueError, match="rows must name each user at most once"):
        small_environment().take(np.array([0, 0]))


def test_a_world_does_not_change_with_the_arrays_it_was_made_of() -> None:
    X = np.ones((4, 2))
    env = Environment.from_arrays(X, np.ones((2, 2)), k=2)
    X[:] = 0
    assert env.items.features.all()


def test_the_fingerprint_knows_the_length_of_lists() -> None:
    assert small_environment(k=2).fingerprint != small_environment(k=3).fingerprint


def test_the_optimal_list_is_the_most_attractive_one() -> None:
    env = small_environment(users=5, items=20, k=3)
    w = np.clip(env.items.features @ env.preferences.T, 0, 1).T  # (users, items)
    assert np.allclose(env.attraction(env.optimum(1).slates), -np.sort(-w, axis=1)[:, :3])
    expected = 1 - (1 - np.sort(w, axis=1)[:, -3:]).prod(axis=1)
    assert np.allclose(env.optimum(1).values, expected)


def test_clicks_follow_attraction() -> None:
    # one slate of two items, 20,000 rounds: P(C=1) = w1, P(C=2) = (1 - w1) w2
    env = Environment.from_arrays(np.array([[0.3], [0.5]]), np.array([[1.0]]), k=2)
    slates = np.array([[0, 1]])
    found = [env.respond(slates, round=t, seed=2).clicks[0] for t in range(20_000)]
    assert max(clicks.sum() for clicks in found) == 1
    for share, p in zip(np.mean(found, axis=0), [0.3, 0.7 * 0.5], strict=True):
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / 20_000)


def test_shuffling_a_list_does_not_change_what_would_attract() -> None:
    env = small_environment(users=1, items=8, k=8)
    for t in range(50):
        one = env.respond(np.arange(8)[None], round=t, seed=0)
        back = env.respond(np.arange(8)[None, ::-1], round=t, seed=0)
        assert one.clicks.any() == back.clicks.any()


def test_a_saved_environment_comes_back_equal(tmp_path) -> None:
    table = ratings(item_groups={"genre": np.array(["a", "b|c"] * 15)})
    env = Environment.from_ratings(table, dim=3, k=4)
    env.save(tmp_path / "env.npz")
    back = Environment.load(tmp_path / "env.npz")
    assert back.fingerprint == env.fingerprint
    assert back.info == env.info
    assert back.k == 4
    assert back.items.groups["genre"].tolist() == env.items.groups["genre"].tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["env.npz"]


def test_who_comes_how_often_is_saved_and_tells_environments_apart(tmp_path) -> None:
    often = np.linspace(0.2, 1.0, 6)
    env = small_environment(activity=often)
    env.save(tmp_path / "env.npz")
    back = Environment.load(tmp_path / "env.npz")
    assert back.users.activity.tolist() == often.tolist()
    assert back.fingerprint == env.fingerprint != small_environment().fingerprint
    assert back.take(slice(2, 4)).users.activity.tolist() == often[2:4].tolist()
    parts = [small_environment().users[:2], env.users[2:]]
    assert Users.join(parts).activity.tolist() == [1.0, 1.0, *often[2:]]


def test_other_files_are_not_taken_for_environments(tmp_path) -> None:
    (tmp_path / "text").write_text("hello")
    np.savez(tmp_path / "plain.npz", a=np.ones(2))
    for name in ("text", "plain.npz"):
        with pytest.raises(ValueError, match=f"{name}: not a file that faircascade saved"):
            Environment.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Environment.load(tmp_path / "nothing.npz")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 31}, "k must be at most 30"),
        ({"k": 0}, r"k must be between 1 and \d+ \(the items that can be recommended\), got 0"),
        ({"dim": 0}, r"dim must be between 1 and 29.* got 0"),
        ({"dim": 30}, r"dim must be between 1 and 29.* got 30"),
        ({"users": 0}, "users must be at least 1, got 0"),
        ({"sampling": "x", "users": 1000}, "sampling must be one of active, random, got 'x'"),
        ({"align": "x", "preferences": "lstsq"}, "align must be one of sign, none, procrustes"),
        ({"k": 2.5}, "k must be a whole number, got 2.5"),
        (
            {"merit": np.ones(3)},
            "merit must have one value for each of the 30 items of the ratings",
        ),
        ({"sampling": "x"}, "sampling must be one of active, random, got 'x'"),
        ({"train_share": 1}, "train_share must be between 0 and 1"),
        ({"zero_rows": "x"}, "zero_rows must be one of exclude, keep, got 'x'"),
        ({"preferences": "x"}, "preferences must be one of svd, lstsq, got 'x'"),
        ({"merit_floor": 0}, "merit_floor must be positive, got 0"),
    ],
)
def test_wrong_options_are_named(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Environment.from_ratings(ratings(), **({"dim": 3, "k": 4, "users": 30} | options))


def test_every_option_is_described_once() -> None:
    listed = re.findall(r"^ {4}(\w+): ", inspect.getdoc(Environment.from_ratings), re.MULTILINE)
    assert listed == list(inspect.signature(Environment.from_ratings).parameters)


def test_a_class_of_ones_own_is_made_of_ratings_too() -> None:
    class Mine(Environment):
        pass

    assert type(Mine.from_ratings(ratings(), dim=3, k=4)) is Mine
    with pytest.raises(UnknownParameterError, match=r"Mine.from_ratings\(\) has no parameter 'kk'"):
        Mine.from_ratings(ratings(), dim=3, kk=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item_ids": ["a", "a", "b"]}, "item ids must be distinct, got .*'a'.* twice"),
        ({"item_ids": ["a"]}, "item ids must be one for each of the 3 rows"),
        ({"merit": np.array([1, 0, 1])}, "merit must be positive, got 0"),
        ({"merit": np.ones(2)}, "merit must have one value for each of the 3 items"),
        ({"groups": {"g": ["a"]}}, "g must have one value for each of the 3 items"),
        (
            {"features": np.full((3, 2), np.nan)},
            r"features must be finite at index \(0, 0\)",
        ),
        ({"features": np.ones(3)}, r"features must be items x dimensions, got \(3,\)"),
        ({"preferences": np.ones((2, 5))}, r"preferences must be users x 2 .* got \(2, 5\)"),
        ({"k": 4}, "k must be between 1 and 3"),
    ],
)
def test_wrong_arrays_are_named(options: dict, message: str) -> None:
    given_ = {"features": np.ones((3, 2)), "preferences": np.ones((2, 2)), "k": 2} | options
    with pytest.raises(ValueError, match=message):
        Environment.from_arrays(**given_)


def test_raw_signs_are_those_of_lapack() -> None:
    split = split_positives(binarise(ratings(), 4), 0.5, 0)
    U, _, _ = np.linalg.svd(split.train.toarray(), full_matrices=False)
    assert np.array_equal(truncated_svd(split.train, 3, raw_signs=True).U, U[:, :3])


def test_a_world_does_not_depend_on_the_threads_of_linear_algebra() -> None:
    """Nor on what the process did before: SciPy's library is loaded late, and must be limited."""
    code = (
        "import faircascade as fc\n"
        "data = fc.load_dataset('synthetic', users=300, items=500)\n"
        "for align in {aligns}:\n"
        "    env = fc.Environment.from_ratings(data, dim=8, k=5, seed=1, align=align)\n"
        "    print(env.fingerprint)\n"
    )

    def fingerprints(aligns: tuple[str, ...], threads: str) -> list[str]:
        return subprocess.run(
            [sys.executable, "-c", code.format(aligns=aligns)],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()

    both = fingerprints(("sign", "none"), "1")
    assert fingerprints(("sign", "none"), "2") == both
    assert fingerprints(("none",), "2") == both[1:]
