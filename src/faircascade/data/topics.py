"""What items are about: topics from a column of the items, or from who likes what."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.factors import truncated_svd
from faircascade.data.prepare import Split
from faircascade.errors import suggest
from faircascade.types import Floats

FACTORS = "factors"
"""The name for topics that are found in the likes themselves."""
_SEPARATOR = "|"
_MOST = 3
"""Factors that an item is about."""


def topics_of(split: Split, source: str | None, dim: int) -> Floats:
    """Return how far each item covers each topic, in [0, 1], (m, t), from the train half.

    A column such as genre makes one topic of each of its values; an item may be about several. An
    item covers the share of the topic's users who like it. "factors" makes up to two topics of
    each factor of the likes, what speaks for it and what against, and an item is about the three
    that it loads on most.
    """
    if source is None:
        return np.zeros((split.train.shape[1], 0))
    if source == FACTORS:
        return _shares(split.train, _by_factor(split.train, dim))
    columns = split.ratings.item_groups
    if source not in columns:
        close = suggest(source, columns)
        known = ", ".join([FACTORS, *columns])
        raise DataError(f"topics must be one of {known}, got {source!r}{close}")
    return _shares(split.train, _by_column(columns[source]))


def _shares(train: Any, about: Floats) -> Floats:
    """Return the users who like an item among those who like any item about the topic."""
    of_item = np.asarray(train.sum(axis=0), dtype=np.float64).ravel()
    of_topic = np.asarray((train @ about > 0).sum(axis=0), dtype=np.float64)
    shares = about * of_item[:, None] / np.maximum(of_topic, 1.0)
    return np.ascontiguousarray(shares[:, of_topic > 0])


def _by_column(column: Any) -> Floats:
    """Return which items (m) are about which value of a column, 0 or 1, (m, t)."""
    members = [set(filter(None, map(str.strip, text.split(_SEPARATOR)))) for text in column]
    names = sorted(set().union(*members))
    about = np.array([[name in of for name in names] for of in members], dtype=np.float64)
    return about.reshape(len(members), len(names))


def _by_factor(train: Any, dim: int) -> Floats:
    """Return which items are about which side of a factor, 0 or 1, (m, 2 dim)."""
    svd = truncated_svd(train, dim)
    sides = np.hstack([np.maximum(svd.V, 0.0), np.maximum(-svd.V, 0.0)])
    about = np.zeros_like(sides)
    most = np.argsort(-sides, axis=1, kind="stable")[:, :_MOST]
    np.put_along_axis(about, most, values=1.0, axis=1)
    return np.where(sides > 1e-9, about, 0.0)
