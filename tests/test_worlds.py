"""Worlds: how ratings become attraction, and what that does to an environment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircascade.data.base import Ratings
from faircascade.data.load import load_dataset
from faircascade.engine import simulate, simulation
from faircascade.environment import Environment
from faircascade.environment.agreement import agreement
from faircascade.environment.worlds import WORLDS, calibrate
from faircascade.errors import ParameterError
from faircascade.policies import EALinUCB, LinUCB


@pytest.fixture(scope="module")
def synthetic() -> Ratings:
    return load_dataset("synthetic", users=200, items=500)


@pytest.mark.parametrize("world", list(WORLDS))
@pytest.mark.parametrize(("k", "rate"), [(1, 0.05), (5, 0.4), (20, 0.95)])
def test_optimal_slates_are_clicked_at_the_stated_rate(
    synthetic: Ratings, world: str, k: int, rate: float
) -> None:
    env = Environment.from_ratings(synthetic, k=k, world=world, click_rate=rate)
    assert env.optimum(1).values.mean() == pytest.approx(rate, abs=1e-9)
    assert env.info["click_rate"] == rate


def test_calibration_scales_preferences_and_nothing_else() -> None:
    draws = np.random.default_rng(3)
    theta, X = draws.normal(size=(300, 4)), draws.normal(size=(50, 4))
    scaled = calibrate(theta, X, 5, 0.3)
    ratio = scaled / theta
    assert np.allclose(ratio, ratio[0, 0])
    assert ratio[0, 0] > 0


def test_a_rate_that_no_scale_reaches_is_refused() -> None:
    theta = np.array([[1.0], [-1.0]])  # nothing attracts the second user
    with pytest.raises(ParameterError, match=r"click_rate must be at most 0\.5"):
        calibrate(theta, np.ones((3, 1)), 2, 0.6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"world": "populr"}, "world must be one of popular, paper"),
        ({"popularity_power": 2.0}, "popularity_power must be from 0 to 1"),
        ({"click_rate": 1.0}, "click_rate must be between 0 and 1"),
        ({"preferences": "als"}, "preferences must be one of svd, lstsq"),
    ],
)
def test_wrong_options_of_a_world_are_named(
    synthetic: Ratings, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Environment.from_ratings(synthetic, **options)


def test_options_override_those_of_the_world(synthetic: Ratings) -> None:
    popular = Environment.from_ratings(synthetic, world="popular")
    same = Environment.from_ratings(
        synthetic, world="paper", popularity_power=1.0, preferences="lstsq", click_rate=0.4
    )
    assert same.fingerprint == popular.fingerprint


def test_popular_items_attract_more_in_the_popular_world_alone(synthetic: Ratings) -> None:
    paper = Environment.from_ratings(synthetic, world="paper").facts
    popular = Environment.from_ratings(synthetic, world="popular").facts
    assert popular.popularity_correlation > 0.9 > paper.popularity_correlation
    assert popular.popular_share > paper.popular_share
    assert popular.optimal_equality < paper.optimal_equality
    assert popular.optimal_head_share > paper.optimal_head_share


def test_the_popular_world_agrees_better_with_held_out_likes(synthetic: Ratings) -> None:
    found = {world: agreement(synthetic, world=world, dim=5) for world in WORLDS}
    gain = found["popular"].auc.mean - found["paper"].auc.mean
    assert gain > 3 * np.hypot(found["popular"].auc.error, found["paper"].auc.error)
    assert found["popular"].precision.mean > found["paper"].precision.mean
    assert found["popular"].popularity_auc == found["paper"].popularity_auc


def test_attraction_that_knows_the_held_out_likes_agrees_fully() -> None:
    # two tastes, items of one taste liked by all of its users: what is held out is predictable
    users, items = np.divmod(np.arange(40 * 30), 30)
    liked = users % 2 == items % 2
    ratings = Ratings(
        name="tastes",
        user_ids=np.arange(40),
        item_ids=np.arange(30),
        users=users[liked].astype(np.int32),
        items=items[liked].astype(np.int32),
        ratings=np.full(int(liked.sum()), 5, dtype=np.float32),
    )
    found = agreement(ratings, dim=2, k=3)
    assert found.auc.mean > 0.999
    assert found.popularity_auc.mean < 0.6


def test_facts_of_an_environment_that_can_be_counted_by_hand() -> None:
    # one user; attractions 0.5, 0.2, 0; popularity 1, 2, 3; slates of one item
    env = Environment.from_arrays(
        np.array([[0.5], [0.2], [0.0]]), np.array([[1.0]]), k=1, popularity=np.array([1.0, 2, 3])
    )
    facts = env.facts
    assert (facts.items, facts.eligible) == (3, 3)
    assert facts.optimal_value == pytest.approx(0.5)
    assert facts.popular_value == 0.0
    assert facts.random_value == pytest.approx(0.7 / 3, abs=4 * 0.206 / 8)  # 64 draws
    assert facts.popularity_correlation == pytest.approx(
        np.corrcoef([1, 2, 3], [0.5, 0.2, 0])[0, 1]
    )
    assert facts.optimal_equality == pytest.approx(1 / 3)
    assert facts.optimal_head_share == 0.0
    assert facts.head_share == 0.5


def test_without_popularity_there_are_no_facts_about_it() -> None:
    facts = Environment.from_arrays(np.eye(3), np.ones((2, 3)) / 3, k=1).facts
    assert np.isnan(facts.popular_value)
    assert not any("popular" in name for name, _ in facts.lines())


def few_likes(ratings: Ratings) -> Ratings:
    """Ratings in which most items are liked once."""
    first = np.zeros(len(ratings), dtype=bool)
    first[np.unique(ratings.items, return_index=True)[1]] = True
    keep = first | (ratings.items < 100)
    return replace(
        ratings,
        users=ratings.users[keep],
        items=ratings.items[keep],
        ratings=np.full(int(keep.sum()), 5, dtype=np.float32),
    )


def test_what_decides_the_outcome_is_said(
    synthetic: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(ratings: Ratings = synthetic, **options: Any) -> str:
        return " ".join(Environment.from_ratings(ratings, **options).info["cautions"])

    assert words() == ""
    monkeypatch.setattr("faircascade.environment.from_ratings.USERS", 50)
    assert "only the 50 most active of 200 users" in words()
    assert words(users=50) == "", "it was asked for"
    assert words(sampling="random") == ""
    monkeypatch.undo()
    assert "optimal slates get 0.90 clicks" in words(click_rate=0.9)
    assert "of the ratings count as liked" in words(threshold=1.0)
    assert "have no features" in words(few_likes(synthetic))


def test_a_policy_that_does_harm_in_a_world_says_so_once(synthetic: Ratings, caplog: Any) -> None:
    simulation._warn_once.cache_clear()
    paper, popular = (Environment.from_ratings(synthetic, world=w) for w in ("paper", "popular"))
    caplog.clear()
    changed = Environment.from_ratings(synthetic, popularity_power=0.0)
    for env in (paper, changed, popular, popular):
        simulate(env, EALinUCB(weight="linear"), rounds=2)
        simulate(env, EALinUCB(), rounds=2)
        simulate(env, LinUCB(), rounds=2)
    (message,) = [record.getMessage() for record in caplog.records]
    assert "EALinUCB linear" in message
    assert "'popular'" in message


@pytest.mark.parametrize(
    ("policy", "click_model", "warned"),
    [
        ("bandit(reward=exposure-aware(weight=linear))", "cascade", True),
        ("ealinucb(weight=linear)", "dcm", False),
        ("ealinucb(weight=linear, weighs=observations)", "cascade", False),
        ("ealinucb(weight=linear, observation=all)", "cascade", False),
        ("ealinucb(weight=linear, reranker=merit-draws)", "cascade", False),
        ("ealints(weight=linear)", "cascade", False),
        ("logistic-ucb(reward=exposure-aware(weight=linear))", "cascade", False),
        ("cascade-ucb1(reward=exposure-aware(weight=linear))", "cascade", False),
        ("cascade-lsb(reward=exposure-aware(weight=linear))", "cascade", False),
    ],
)
def test_harm_is_said_of_what_was_studied_alone(
    policy: str, click_model: str, warned: bool, synthetic: Ratings, caplog: Any
) -> None:
    """The study was of LinUCB, its weights in the targets, under a cascade."""
    simulation._warn_once.cache_clear()
    env = Environment.from_ratings(synthetic, click_model=click_model, topics="factors")
    caplog.clear()
    simulate(env, policy, rounds=1, engine="loop")
    assert warned == ("less equal" in caplog.text)
