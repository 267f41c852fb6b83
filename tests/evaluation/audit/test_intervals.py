"""Intervals are those of the textbook, and they cover."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import faircascade as fc
from faircascade.evaluation.audit import Estimate
from faircascade.evaluation.audit.intervals import (
    BLOCKS,
    balanced_halves,
    evenness,
    extreme,
    left_out,
    quantile,
    smooth,
)
from faircascade.evaluation.user_blocks import block_of

everything = np.ones(BLOCKS, dtype=bool)


def parts(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the mean over the blocks of each part, (parts, 1)."""
    return np.array([[values[blocks].mean()] for blocks in chosen])


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    values = np.random.default_rng(1).normal(3, 2, BLOCKS)
    error = values.std(ddof=1) / math.sqrt(BLOCKS)
    whole = np.array([values.mean()])
    by_jackknife = smooth(whole, parts(values, left_out(everything)))[0]
    half = quantile(BLOCKS - 1) * error
    assert by_jackknife.corrected == pytest.approx(values.mean())
    assert by_jackknife.high - values.mean() == pytest.approx(half)
    by_halves = extreme(whole, parts(values, balanced_halves(everything)))[0]
    assert values.mean() - by_halves.low == pytest.approx(half)


def test_the_jackknife_removes_the_bias_of_a_square() -> None:
    values = np.random.default_rng(2).normal(3, 2, BLOCKS)
    square = np.array([values.mean() ** 2])
    without = parts(values, left_out(everything)) ** 2
    unbiased = values.mean() ** 2 - values.var(ddof=1) / BLOCKS
    assert smooth(square, without)[0].corrected == pytest.approx(unbiased)
    longer = evenness(square, without)[0]
    correction = unbiased - float(square[0])
    plain = smooth(square, without)[0]
    assert longer.low == pytest.approx(plain.low + correction)
    assert longer.high == plain.high


def test_intervals_stay_within_bounds_and_need_users() -> None:
    values = np.random.default_rng(3).random(BLOCKS)
    without = parts(values, left_out(everything))
    found = smooth(np.array([values.mean()]), without, (0.45, 0.5))[0]
    assert (found.low, found.high) == (0.45, 0.5)
    few = np.arange(BLOCKS) < 7
    assert not len(left_out(few))
    assert not len(balanced_halves(few))
    assert math.isnan(smooth(np.array([1.0]), np.zeros((0, 1)))[0].low)
    assert math.isnan(extreme(np.array([1.0]), np.zeros((0, 1)))[0].low)


def test_a_user_is_in_the_same_block_whatever_the_id_is_read_as() -> None:
    assert block_of([7, 11], 32).tolist() == block_of(["7", "11"], 32).tolist()
    sizes = np.bincount(block_of(range(32_000), 32), minlength=32)
    assert abs(sizes - 1000).max() < 5 * math.sqrt(1000)


class World:
    """Users with tastes, who see and click a random number of slates."""

    def __init__(self, seed: int, items: int, spread: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.base = self.rng.normal(0, spread, items)
        self.attraction = self.rng.uniform(0.1, 0.6, items)
        fame = self.attraction + self.rng.uniform(0, 0.3, items)
        genre = np.where(np.arange(items) % 3, "y", "x")
        columns = {"item": np.arange(items), "worth": self.attraction, "fame": fame}
        self.items = pa.table(columns | {"genre": genre})

    def log(self, users: int, k: int = 5) -> pa.Table:
        rng, m = self.rng, len(self.base)
        user = np.repeat(np.arange(users), rng.poisson(3, users) + 1)
        taste = rng.normal(0, 0.5, (users, m))
        scores = self.base + taste[user] + rng.gumbel(size=(len(user), m))
        slates = np.argsort(-scores, axis=1)[:, :k]
        clicks = rng.random(slates.shape) < self.attraction[slates] / np.arange(1, k + 1)
        return pa.table(
            {
                "user": np.repeat(user, k),
                "impression": np.repeat(np.arange(len(user)), k),
                "item": slates.ravel(),
                "position": np.tile(np.arange(1, k + 1), len(user)),
                "click": clicks.ravel().astype(np.int8),
            }
        )

    def audit(self, users: int, merit: str) -> fc.Audit:
        return fc.audit(
            self.log(users),
            items=self.items,
            groups=["genre"],
            merit=merit,
            popularity="fame",
            periods=0,
        )


def numbers(found: fc.Audit) -> dict[str, Estimate]:
    """Return metrics of items and of groups, and the ratio of the first group."""
    genre = found.groups["genre"]
    of_groups = {f"genre.{name}": each for name, each in genre.metrics.items()}
    return {**found.metrics, **of_groups, "genre.ratio": genre.ratio[0]}


def coverage(seed: int, items: int, spread: float, users: int, merit: str, runs: int):
    """Return the share of intervals that have the value of very many users, by number."""
    world = World(seed, items, spread)
    truth = {name: each.corrected for name, each in numbers(world.audit(30_000, merit)).items()}
    hits = dict.fromkeys(truth, 0)
    for _ in range(runs):
        for name, each in numbers(world.audit(users, merit)).items():
            hits[name] += each.low - 1e-9 <= truth[name] <= each.high + 1e-9
    return {name: count / runs for name, count in hits.items()}


def test_popularity_from_the_same_clicks_has_no_interval() -> None:
    """It would cover the truth in 4 of 10 logs: chance in the clicks shuffles the ranks."""
    log = World(5, 20, 1.0).log(100)
    without = fc.audit(log, periods=0)
    named = World(5, 20, 1.0).audit(100, "equal")
    for name in ("popularity_correlation", "tail_share"):
        found = without.metrics[name]
        assert not math.isnan(found.value)
        assert found.to_dict() == {
            "value": found.value,
            "corrected": None,
            "low": None,
            "high": None,
        }
        assert not math.isnan(named.metrics[name].low)
    assert any("popularity is estimated" in note for note in without.to_dict()["notes"])
    assert not any("popularity is estimated" in note for note in named.notes)


ROUGH = ("popularity_correlation", "genre.disparate_impact")
"""Numbers of ranks, or of few clicks, whose intervals are somewhat too narrow."""


@pytest.mark.parametrize(
    ("items", "spread", "users"),
    [(40, 1.0, 300), pytest.param(300, 0.3, 300, marks=pytest.mark.slow)],
)
def test_intervals_cover(items: int, spread: float, users: int) -> None:
    runs = 100
    error = math.sqrt(0.95 * 0.05 / runs)  # of a share of runs
    found = coverage(5, items, spread, users, "worth", runs)
    smooth_ones = {name: share for name, share in found.items() if name not in ROUGH}
    assert min(smooth_ones.values()) > 0.95 - 4 * error
    assert np.mean(list(smooth_ones.values())) > 0.95 - error
    assert min(found[name] for name in ROUGH) > 0.75


def test_slates_at_random_are_not_called_uneven() -> None:
    """All items are shown equally in the long run; 30 appearances each look uneven by chance."""
    world = World(6, 60, 0.0)
    found = world.audit(90, "equal").metrics["equality_p"]
    assert found.value < 0.93
    assert found.value < found.corrected < found.high
    assert found.high > 0.97


@pytest.mark.parametrize("users", [8, 60, 400])
def test_no_value_is_outside_its_interval(users: int) -> None:
    found = World(8, 120, 0.3).audit(users, "worth")
    assert found.blocks >= 8
    for name, each in numbers(found).items():
        assert math.isnan(each.low) or each.low <= each.value <= each.high, name


def test_what_few_impressions_cannot_tell_has_no_interval_and_a_note() -> None:
    """With about one appearance of an item, 3 of 4 intervals of merit_js would be wrong."""
    log = World(8, 1200, 0.3)
    found = log.audit(60, "worth")
    assert found.log.impressions * 5 < 3 * 1200
    for name in ("equality_p", "entropy", "merit_js", "top_items"):
        assert math.isnan(found.metrics[name].low)
    assert "interval" not in found.headline.partition(".")[0]
    (note,) = [note for note in found.notes if "by chance" in note]
    assert "equality_p" in note
    assert "more impressions, of more users" in note
    assert not math.isnan(found.metrics["clicks"].low)


def test_a_number_that_chance_moves_far_has_a_note() -> None:
    some = World(8, 120, 0.3).audit(60, "worth")
    (note,) = [note for note in some.notes if "by chance" in note]
    assert "one side of the value" in note
    many = World(8, 20, 1.0).audit(400, "worth")
    assert not [note for note in many.notes if "by chance" in note]


@pytest.mark.slow
def test_intervals_cover_with_merit_from_many_clicks() -> None:
    runs = 100
    found = coverage(7, 40, 1.0, 1500, "estimated", runs)
    error = math.sqrt(0.95 * 0.05 / runs)
    for name in ("equity_p", "ee_l", "merit_js", "genre.ratio", "genre.awrf"):
        assert found[name] > 0.95 - 4 * error
