"""Click rates of items and positions by counting, and a position-based model made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.clicks import PBM
from faircascade.data.log import Impressions
from faircascade.errors import ParameterError
from faircascade.evaluation.estimators.slates import known_positions
from faircascade.fitting.fitted import FittedClickModel
from faircascade.fitting.positions import fit_positions
from faircascade.types import Floats, Ids, Ints

FOLDS = 2
"""Rates for users of one fold are counted on the others, so that no click explains itself."""
STRENGTH = 20.0
"""Impressions that the model of items and positions counts as, beside those of a pair."""
_LEAST = 1e-4
"""Examination below this counts as this, so that no weight is without bound."""


@dataclass(frozen=True, kw_only=True)
class PositionModel:
    """A position-based click model: a click is examination times attraction.

    What was fitted elsewhere can be given so; otherwise one is made from counts of the log.
    """

    examination: Sequence[float] | Floats
    """Probability that a position is looked at, (K,)."""
    attraction: Mapping[Any, float]
    """Probability that an item is clicked if looked at, by item id."""

    def __post_init__(self) -> None:
        for name, values in (
            ("examination", np.asarray(self.examination, dtype=np.float64)),
            ("attraction", np.array(list(self.attraction.values()), dtype=np.float64)),
        ):
            wrong = values[~((values >= 0) & (values <= 1))]
            if wrong.size:
                raise ParameterError(name, "must be between 0 and 1", float(wrong.flat[0]))

    def rates(self, item_ids: Ids, k: int) -> ClickRates:
        """Return its expectations for the items of a log and slates of length k."""
        if len(self.examination) < k:
            rule = f"must have a value for each of the {k} positions of the log"
            raise ParameterError("examination", rule, list(self.examination))
        known = {str(item): value for item, value in self.attraction.items()}
        usual = float(np.mean(list(known.values()))) if known else 0.0
        attraction = np.array([known.get(str(item), usual) for item in item_ids] + [usual])
        examination = np.asarray(self.examination, dtype=np.float64)[:k]
        return ClickRates(
            table=attraction[:, None] * examination, examination=examination, attraction=attraction
        )


def position_model(given: Any) -> PositionModel:
    """Return a position-based model that was fitted elsewhere: itself, a `FittedClickModel`, or the
    file of one.
    """
    if isinstance(given, PositionModel):
        return given
    found = FittedClickModel.load(given) if isinstance(given, str | Path) else given
    if not isinstance(found, FittedClickModel):
        rule = "must be a PositionModel, a FittedClickModel or the file of one"
        raise ParameterError("click_model", rule, type(given).__name__)
    if not isinstance(found.click_model, PBM):
        raise ParameterError("click_model", "must be position-based ('pbm')", found.name)
    if found.contexts:
        raise ParameterError("click_model", "must be fitted without contexts", found)
    kappa = found.click_model.examination(found.k)[:, 0]
    return PositionModel(examination=kappa, attraction=found.by_item())


@dataclass(frozen=True, kw_only=True, eq=False)
class ClickRates:
    """Expected clicks, by item code and position; the last row is for items not in the log."""

    table: Floats
    """(m + 1, K)"""
    examination: Floats
    """Of positions, (K,)."""
    attraction: Floats
    """Of items, (m + 1,)."""

    def of(self, codes: Ints) -> Floats:
        """Return the expected clicks of slates of item codes (n, K), -1 for unknown items."""
        return np.asarray(self.table[codes, np.arange(codes.shape[1])])


@dataclass(eq=False)
class ClickCounts:
    """Impressions and clicks of items at positions, by fold of users."""

    shown: Floats = field(default_factory=lambda: np.zeros((FOLDS, 0, 0)))
    """(folds, m, K)"""
    clicked: Floats = field(default_factory=lambda: np.zeros((FOLDS, 0, 0)))
    """(folds, m, K)"""

    def add(self, block: Impressions, folds: Ints) -> None:
        """Count impressions of users of some folds, (n,)."""
        m = max(self.shown.shape[1], int(block.items.max(initial=-1)) + 1)
        k = max(self.shown.shape[2], block.k)
        self.shown, self.clicked = _wider(self.shown, m, k), _wider(self.clicked, m, k)
        known = known_positions(block)
        fold = np.broadcast_to(folds[:, None], known.shape)
        place = np.broadcast_to(np.arange(block.k), known.shape)
        cells = ((fold * m + block.items) * k + place)[known]
        self.shown += np.bincount(cells, minlength=self.shown.size).reshape(self.shown.shape)
        hits = block.clicks[known].astype(np.float64)
        self.clicked += np.bincount(cells, weights=hits, minlength=self.shown.size).reshape(
            self.shown.shape
        )

    def rates(self) -> tuple[ClickRates, ...]:
        """Return the rates for users of each fold, which the other folds were counted for."""
        return tuple(
            rates_of(
                self.shown.sum(axis=0) - self.shown[fold],
                self.clicked.sum(axis=0) - self.clicked[fold],
            )
            for fold in range(FOLDS)
        )


def folds_of(blocks: Ints) -> Ints:
    """Return the folds of blocks of users, (n,); all users of a block are of one fold."""
    return np.asarray(blocks % FOLDS)


def rates_of(shown: Floats, clicked: Floats) -> ClickRates:
    """Return rates from counts (m, K): those of a pair, drawn to the position-based model."""
    m, _ = shown.shape
    fit = fit_positions(shown, clicked)
    most = float(fit.positions.max())
    examination = np.maximum(fit.positions / most, _LEAST)
    attraction = np.append(fit.items, fit.average) * most if clicked.any() else np.zeros(m + 1)
    expected = np.minimum(attraction[:, None] * examination, 1.0)
    table = (clicked + STRENGTH * expected[:-1]) / (shown + STRENGTH)
    return ClickRates(
        table=np.vstack([table, expected[-1]]),
        examination=examination,
        attraction=np.minimum(attraction, 1.0),
    )


def _wider(counts: Floats, m: int, k: int) -> Floats:
    if counts.shape[1:] == (m, k):
        return counts
    wide = np.zeros((FOLDS, m, k))
    wide[:, : counts.shape[1], : counts.shape[2]] = counts
    return wide
