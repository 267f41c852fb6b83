"""How likely the clicks of slates are under a click model, position by position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faircascade.clicks import Cascade, ClickModel
from faircascade.clicks.dcm import DCM
from faircascade.clicks.positional import PositionalModel
from faircascade.clicks.sequential import SequentialModel
from faircascade.errors import ParameterError
from faircascade.types import Bools, Floats, Ints


class Predictions(NamedTuple):
    """Probabilities of a click at each position, (n, K)."""

    conditional: Floats
    """Given the clicks above: their logarithms add up to that of the whole slate."""
    marginal: Floats
    """Without knowing any other click."""
    examined: Floats
    """Of looking at the position, given the clicks above."""


def predict(model: ClickModel, attraction: Floats, slates: Ints, clicks: Bools) -> Predictions:
    """Return what a model says of each position of slates, all positions of which were shown.

    `attraction` (n, K) is that of the items, `slates` (n, K) their catalogue rows, for models in
    which items have parameters of their own. What is below a position never matters to it, so that
    shorter slates may be filled up with anything.
    """
    if isinstance(model, Cascade):
        model = DCM(stop=1.0)  # the same users
    if isinstance(model, PositionalModel):
        return _positional(model, attraction, clicks)
    if isinstance(model, SequentialModel):
        return _sequential(model, attraction, slates, clicks)
    rule = "must be cascade, or a sequential or positional model"
    raise ParameterError("click_model", rule, model.name or type(model).__name__)


def log_likelihoods(predicted: Floats, clicks: Bools, present: Bools) -> Floats:
    """Return the logarithm of the probability of each click or its absence, (n, K)."""
    with np.errstate(divide="ignore"):
        found = np.log(np.where(clicks, predicted, 1.0 - predicted))
    return np.where(present, found, 0.0)


def _positional(model: PositionalModel, w: Floats, clicks: Bools) -> Predictions:
    n, k = w.shape
    examination = model.examination(k)  # (k, k)
    examined, marginal = np.empty((n, k)), np.empty((n, k))
    last = np.zeros(n, dtype=np.int64)
    chances = np.zeros((k + 1, n))  # that the last click was at position 0 (none), 1, 2, ...
    chances[0] = 1.0
    for position in range(k):
        examined[:, position] = examination[position, position - last]
        last = np.where(clicks[:, position], position + 1, last)
        looks = examination[position, position - np.arange(position + 1)]  # (position + 1,)
        clicked = chances[: position + 1] * (looks[:, None] * w[:, position])
        chances[: position + 1] -= clicked
        chances[position + 1] = marginal[:, position] = clicked.sum(axis=0)
    return Predictions(examined * w, marginal, examined)


def _sequential(model: SequentialModel, w: Floats, slates: Ints, clicks: Bools) -> Predictions:
    n, k = w.shape
    numbers = model.numbers(k)
    kept = numbers.kept[slates] if len(numbers.kept) > 1 else numbers.kept[0]
    after_click = (numbers.clicked + numbers.slope * w) * kept  # (n, k)
    examined, marginal = np.empty((n, k)), np.empty((n, k))
    belief, reached = np.ones(n), np.ones(n)
    for position in range(k):
        here = w[:, position]
        examined[:, position] = belief
        marginal[:, position] = reached * here
        ignored = belief * (1.0 - here)
        unclicked = 1.0 - belief * here
        still = np.divide(ignored, unclicked, out=np.zeros(n), where=unclicked > 0)
        going = after_click[:, position]
        belief = np.where(clicks[:, position], going, still * numbers.ignored)
        reached = reached * ((1.0 - here) * numbers.ignored + here * going)
    return Predictions(examined * w, marginal, examined)
