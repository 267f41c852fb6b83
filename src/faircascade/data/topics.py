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


def topics_of(split: Split, source: str | None, dim: int) -> Floats:
    """Return how far each item covers each topic, in [0, 1], (m, t), from the train half.

    A column such as genre makes one topic of each of its values: an item covers the share of the
    topic's users who like the item. "factors" makes up to two topics of each factor of the likes,
    what speaks for it and what against, each scaled so that the largest coverage is 1.
    """
    if source is None:
        return np.zeros((split.train.shape[1], 0))
    if source == FACTORS:
        return _from_factors(split.train, dim)
    columns = split.ratings.item_groups
    if source not in columns:
        close = suggest(source, columns)
        known = ", ".join([FACTORS, *columns])
        raise DataError(f"topics must be one of {known}, got {source!r}{close}")
    return _from_column(split.train, columns[source])


def _from_column(train: Any, column: Any) -> Floats:
    """Return shares: users who like the item among those who like anything of the topic."""
    members = [set(filter(None, map(str.strip, text.split(_SEPARATOR)))) for text in column]
    names = sorted(set().union(*members))
    about = np.array([[name in of for name in names] for of in members], dtype=np.float64)
    about = about.reshape(len(members), len(names))
    of_item = np.asarray(train.sum(axis=0), dtype=np.float64).ravel()
    of_topic = np.asarray((train @ about > 0).sum(axis=0), dtype=np.float64)
    shares = about * of_item[:, None] / np.maximum(of_topic, 1.0)
    return np.ascontiguousarray(shares[:, of_topic > 0])


def _from_factors(train: Any, dim: int) -> Floats:
    svd = truncated_svd(train, dim)
    loadings = svd.V * svd.S
    sides = np.hstack([np.maximum(loadings, 0.0), np.maximum(-loadings, 0.0)])
    largest = sides.max(axis=0)
    kept = largest > 1e-9 * largest.max()
    return np.ascontiguousarray(sides[:, kept] / largest[kept])
