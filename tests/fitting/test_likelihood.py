"""Likelihoods of the six models: against enumeration, and against their own draws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.errors import ParameterError
from faircascade.fitting.likelihood import log_likelihoods, predict
from tests.fitting.generated_logs import ATTRACTION, MODELS, slates_and_clicks

PATTERNS = np.array(list(product([False, True], repeat=3)))  # (8, 3)


def _likelihoods(model, w, slate):
    slates, attraction = np.tile(slate, (8, 1)), np.tile(w, (8, 1))
    found = predict(model, attraction, slates, PATTERNS)
    logs = log_likelihoods(found.conditional, PATTERNS, np.ones((8, 3), dtype=bool))
    return found, np.exp(logs.sum(axis=1))


def _enumerated(name, model, w, slate):
    """Return the probability of each pattern, by adding up all that can happen unseen."""
    total = np.zeros(8)
    for attracted in product([0, 1], repeat=3):
        p_attracted = np.prod(np.where(attracted, w, 1 - w))
        for luck in product([0, 1], repeat=3):  # whether users look (pbm, ubm) or go on
            clicks, p, looks, last = [], p_attracted, True, 0
            for j in range(3):
                if name in ("pbm", "ubm"):
                    rate = model.examination(3)[j, j - last]
                    clicks.append(bool(luck[j] and attracted[j]))
                    last = j + 1 if clicks[j] else last
                else:
                    clicks.append(bool(looks and attracted[j]))
                    rate = _goes_on(name, model, w, slate, j, clicks[j])
                    looks = looks and bool(luck[j])
                p *= rate if luck[j] else 1 - rate
            total[np.flatnonzero((clicks == PATTERNS).all(axis=1))] += p
    return total


def _goes_on(name, model, w, slate, j, clicked) -> float:
    if name == "cascade":
        return 0.0 if clicked else 1.0
    if name == "dcm":
        return 1.0 - model.stop[j] if clicked else 1.0
    if name in ("dbn", "sdbn"):
        return model.continuation * (1.0 - model.satisfaction[slate[j]] if clicked else 1.0)
    return model.t2 * (1 - w[j]) + model.t3 * w[j] if clicked else model.t1


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20, deadline=None)
@given(
    w=st.lists(st.floats(0, 1), min_size=3, max_size=3).map(np.array),
    slate=st.permutations(range(12)).map(lambda p: np.array(p[:3])),
)
def test_likelihoods_are_those_of_enumeration_and_sum_to_one(name, w, slate) -> None:
    model = MODELS[name]
    found, likelihood = _likelihoods(model, w, slate)
    assert np.isclose(likelihood.sum(), 1.0)
    assert np.allclose(likelihood, _enumerated(name, model, w, slate))
    assert np.allclose(found.marginal[0], likelihood @ PATTERNS)


@pytest.mark.parametrize("name", MODELS)
def test_marginal_probabilities_are_click_rates(name) -> None:
    slates, clicks = slates_and_clicks(MODELS[name], 20_000)
    found = predict(MODELS[name], ATTRACTION[slates], slates, clicks)
    off = clicks.mean(axis=0) - found.marginal.mean(axis=0)
    assert (np.abs(off) < 5 * np.sqrt(0.25 / len(slates))).all()


def test_a_model_that_is_neither_sequential_nor_positional_is_refused() -> None:
    from faircascade.clicks import ClickModel

    class Other(ClickModel):
        def click(self, attraction, slates, draws):
            return attraction > 0.5

        def value(self, attraction, slates):
            return attraction.sum(axis=1)

    one = np.ones((1, 1))
    with pytest.raises(ParameterError, match="must be cascade, or a sequential or positional"):
        predict(Other(), one, one.astype(int), one > 0)
