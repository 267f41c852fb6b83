"""Agreement with the slate estimators of the Open Bandit Pipeline on the same trace."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from faircascade.evaluation.estimators import (
    ESTIMATORS,
    Chances,
    EvaluatedSlates,
    PolicySlates,
    Sums,
    Terms,
)
from tests.peers.obp_numbers import ITEMS, SLATES, K, trace

THEIRS = json.loads(Path(__file__).with_name("obp_numbers.json").read_text())["estimates"]
"""Made by `obp_numbers.py`."""


def logged_slates() -> EvaluatedSlates:
    made = trace()
    above = np.ones((SLATES, K))
    above[:, 1:] = made["policy_cascade"][:, :-1]
    expected = np.einsum("nki,ik->nk", made["policy_choices"], made["q"])
    return EvaluatedSlates(
        rewards=made["clicks"].astype(float),
        known=np.ones((SLATES, K), dtype=bool),
        logging=Chances(
            slate=made["logging_cascade"][:, -1],
            cascade=made["logging_cascade"],
            item_position=made["logging_item_position"],
        ),
        policy=PolicySlates(
            chances=Chances(
                slate=made["policy_cascade"][:, -1],
                cascade=made["policy_cascade"],
                item_position=made["policy_item_position"],
            ),
            next_values=above * expected,
            logged_values=made["q"][made["slates"], np.arange(K)],
        ),
    )


@pytest.mark.parametrize("name", THEIRS)
def test_estimates_equal_those_of_obp(name: str) -> None:
    slates, estimator = logged_slates(), ESTIMATORS[name]
    terms = estimator.terms(slates)
    assert isinstance(terms, Terms)
    sums = Sums.empty(7, K)
    sums.add(np.arange(SLATES) % 7, slates.known, terms)
    assert float(estimator.value(sums.total())) == pytest.approx(THEIRS[name], rel=1e-10)


def test_the_probabilities_of_the_trace_add_up() -> None:
    made = trace()
    assert np.allclose(made["policy_choices"].sum(axis=2), 1.0)
    assert made["slates"].max() < ITEMS
