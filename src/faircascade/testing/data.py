"""Checks of data sets and metrics."""

from __future__ import annotations

import math

import numpy as np

from faircascade.data.base import Dataset, Ratings
from faircascade.engine import simulate
from faircascade.metrics import Metric
from faircascade.policies import LinUCB
from faircascade.testing.environments import small_environment
from faircascade.testing.parts import check_component
from faircascade.testing.requirement import require


def check_metric(metric: Metric) -> None:
    """Check that a metric has a title and a finite number for any run."""
    check_component(metric)
    require(metric.title, "a metric needs a title")
    result = simulate(small_environment(), LinUCB(), rounds=10, seed=1)
    require(math.isfinite(metric.measure(result.record)), "a metric must be finite")
    require(
        len(result.curves[metric.name]) == len(result.curves["round"]), "a metric needs a curve"
    )


def check_dataset(dataset: Dataset) -> None:
    """Check a data set that needs neither a file nor a download; of others, what it says."""
    check_component(dataset)
    require(dataset.summary and "\n" not in dataset.summary, "summary must be one line")
    if not dataset.needs_path and type(dataset).fetch is Dataset.fetch:
        check_ratings(dataset.load())


def check_ratings(ratings: Ratings) -> None:
    """Check that ids ascend, ratings are finite, and no user rates an item twice."""
    for name, ids in (("user_ids", ratings.user_ids), ("item_ids", ratings.item_ids)):
        require((ids[1:] > ids[:-1]).all(), f"{name} must be distinct and ascend")
    require(np.isfinite(ratings.ratings).all(), "ratings must be finite")
    low, high = ratings.bounds or (-math.inf, math.inf)
    within = low <= ratings.ratings.min() and ratings.ratings.max() <= high
    require(within, f"ratings must be within their bounds, {low:g} to {high:g}")
    pairs = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
    require(len(np.unique(pairs)) == len(ratings), "a user rates an item once")
    for name, column in ratings.item_groups.items():
        require(column.shape == (ratings.n_items,), f"{name} must have one label per item")
