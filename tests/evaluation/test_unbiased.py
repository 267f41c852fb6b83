"""Estimators are right in the mean, exactly: over all slates and all patterns of clicks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faircascade.evaluation.estimators import (
    AIPS,
    ESTIMATORS,
    IIPS,
    IPS,
    KINDS,
    RIPS,
    CascadeDR,
    Chances,
    ClickBased,
    DirectMethod,
    EvaluatedSlates,
    Missing,
    PolicySlates,
    Sums,
    Terms,
)
from tests.evaluation import tiny

SCORES = arrays(np.float64, tiny.ITEMS, elements=st.floats(-1.5, 1.5))
VALUES = arrays(np.float64, (tiny.ITEMS, tiny.K), elements=st.floats(-1, 2))
SEQUENTIAL = [tiny.pbm, tiny.cascade, tiny.dcm]
ALL = [*SEQUENTIAL, tiny.whole_slate]


@settings(max_examples=20, deadline=None)
@given(SCORES, SCORES, st.sampled_from(ALL))
def test_whole_slates_are_right_for_any_users(logging, other, model) -> None:
    found = tiny.expectation(IPS(), model, logging, other)
    assert found == pytest.approx(tiny.true_value(model, other), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(SCORES, SCORES, st.sampled_from(SEQUENTIAL))
def test_prefixes_are_right_for_users_who_go_from_the_top(logging, other, model) -> None:
    found = tiny.expectation(RIPS(), model, logging, other)
    assert found == pytest.approx(tiny.true_value(model, other), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(SCORES, SCORES)
def test_single_positions_are_right_under_a_position_based_model(logging, other) -> None:
    found = tiny.expectation(IIPS(), tiny.pbm, logging, other)
    assert found == pytest.approx(tiny.true_value(tiny.pbm, other), rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(SCORES, SCORES, VALUES, st.sampled_from(SEQUENTIAL))
def test_cascade_dr_is_right_with_any_model(logging, other, q, model) -> None:
    found = tiny.expectation(CascadeDR(), model, logging, other, q)
    assert found == pytest.approx(tiny.true_value(model, other), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(SCORES, SCORES)
def test_aips_is_right_with_the_right_behaviour(logging, other) -> None:
    for model, kind in ((tiny.whole_slate, "slate"), (tiny.dcm, "cascade")):
        found = tiny.expectation(AIPS(), model, logging, other, behaviour=KINDS.index(kind))
        assert found == pytest.approx(tiny.true_value(model, other), rel=1e-9)
    alone = KINDS.index("item_position")
    found = tiny.expectation(AIPS(), tiny.pbm, logging, other, behaviour=alone)
    assert found == pytest.approx(tiny.true_value(tiny.pbm, other), rel=1e-9)


def test_each_is_wrong_where_its_assumption_is() -> None:
    logging, other = np.zeros(4), np.array([1.5, 0.0, -1.0, -1.0])
    for estimator, model in (
        (RIPS(), tiny.whole_slate),
        (IIPS(), tiny.cascade),
        (IIPS(), tiny.whole_slate),
    ):
        found = tiny.expectation(estimator, model, logging, other)
        assert abs(found - tiny.true_value(model, other)) > 1e-3


@settings(max_examples=20, deadline=None)
@given(SCORES, SCORES)
def test_the_direct_method_is_right_with_the_true_model(logging, other) -> None:
    alone = tiny.chances(other).item_position
    assert alone is not None
    rates = np.zeros((tiny.ITEMS, tiny.K))
    for k in range(tiny.K):
        for slate, chance in zip(tiny.SLATES, alone[:, k], strict=True):
            rates[slate[k], k] = chance  # of this item at this position
    expected = (rates * tiny.ATTRACTION[:, None] * tiny.KAPPA).sum(axis=0)  # (K,)
    predicted = np.tile(expected, (len(tiny.SLATES), 1))
    found = tiny.expectation(DirectMethod(), tiny.pbm, logging, other, predicted=predicted)
    assert found == pytest.approx(tiny.true_value(tiny.pbm, other), rel=1e-9)


def test_click_based_weights_are_right_for_a_log_without_randomness() -> None:
    """One logged slate of all items; the policy shows the same items in another order."""
    logged, own = np.array([[0, 1]]), np.array([1, 0])
    weights = tiny.KAPPA[own][None] / tiny.KAPPA  # item 0 would be second, item 1 first
    total = 0.0
    for pattern in tiny.PATTERNS:
        slates = EvaluatedSlates(
            rewards=pattern[None],
            known=np.ones((1, 2), dtype=bool),
            logging=Chances(),
            policy=PolicySlates(chances=Chances(), harvested=weights, modelled=np.zeros((1, 2))),
        )
        terms = ClickBased().terms(slates)
        assert isinstance(terms, Terms)
        total += tiny.pbm(logged[0], pattern) * float(terms.values.sum())
    truth = sum(tiny.pbm(np.array([1, 0]), p) * p.sum() for p in tiny.PATTERNS)
    assert total == pytest.approx(truth, rel=1e-12)


def test_an_estimator_without_its_probabilities_says_so() -> None:
    slates = EvaluatedSlates(
        rewards=np.zeros((1, 2)),
        known=np.ones((1, 2), dtype=bool),
        logging=Chances(item_position=np.ones((1, 2))),
        policy=PolicySlates(chances=Chances(item_position=np.ones((1, 2)))),
    )
    there = {n for n, e in ESTIMATORS.items() if not isinstance(e.terms(slates), Missing)}
    assert there == {"iips", "sniips"}
    missing = RIPS().terms(slates)
    assert missing == Missing("the log has no probabilities of items down to a position")


@given(SCORES)
@settings(max_examples=10, deadline=None)
def test_the_logging_policy_itself_has_weight_one(scores) -> None:
    """Then every estimate with weights is the mean of what was logged."""
    rng = np.random.default_rng(0)
    slates = EvaluatedSlates(
        rewards=(rng.random(tiny.SLATES.shape) < 0.5).astype(float),
        known=np.ones(tiny.SLATES.shape, dtype=bool),
        logging=tiny.chances(scores),
        policy=PolicySlates(chances=tiny.chances(scores)),
    )
    for name in ("ips", "rips", "iips", "snips", "snrips", "sniips"):
        terms = ESTIMATORS[name].terms(slates)
        assert isinstance(terms, Terms)
        sums = Sums.empty(3, tiny.K)
        sums.add(np.arange(len(tiny.SLATES)) % 3, slates.known, terms)
        found = ESTIMATORS[name].value(sums.total())
        assert found == pytest.approx(slates.rewards.sum(axis=1).mean(), rel=1e-12)
