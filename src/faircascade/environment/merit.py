"""Merit of items: derived from the ratings, or given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from faircascade.data.base import DataError, Ratings
from faircascade.data.factors import mean_relevance
from faircascade.data.prepare import Split
from faircascade.errors import ParameterError
from faircascade.types import Floats

Merit = Literal["svd", "popularity", "column"] | Floats | Callable[[Split], Floats]


def with_merit(ratings: Ratings, merit: Any) -> Ratings:
    """Return the ratings with a merit given for each of their items."""
    values = np.asarray(merit, dtype=np.float64)
    if values.shape != (ratings.n_items,):
        raise ValueError(
            f"merit must have one value for each of the {ratings.n_items} items of the ratings, "
            f"got shape {values.shape}"
        )
    return replace(ratings, item_merit=values)


def merit_name(split: Split, merit: Merit | None) -> str:
    if merit is None:
        return "svd" if split.ratings.item_merit is None else "column"
    return merit if isinstance(merit, str) else "given"


def merit_of(split: Split, merit: Merit | None, dim: int) -> Floats:
    """Return the merit of each item before flooring."""
    whole = split.train + split.test
    if callable(merit):
        return np.asarray(merit(split), dtype=np.float64)
    name = merit_name(split, merit)
    if name == "svd":
        return mean_relevance(whole, dim)
    if name == "popularity":
        return np.asarray(whole.mean(axis=0), dtype=np.float64).ravel()
    if name == "column":
        if split.ratings.item_merit is None:
            raise DataError(f"{split.ratings.name}: has no merit column")
        return split.ratings.item_merit
    raise ParameterError("merit", "must be 'svd', 'popularity' or 'column'", name)
