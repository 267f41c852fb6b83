"""The published numbers, which policy they belong to, and what can be said of ours."""

from __future__ import annotations

import math

import pytest

from faircascade.experiment.stats import Estimate
from faircascade.paper.published import METRICS, Row, published, row_of
from faircascade.paper.verdict import judge
from faircascade.policies import EALinUCB, EARSLinUCB, FRMLinUCB, LinTS, LinUCB
from faircascade.rewards import RBP


def ours(mean: float, half: float = math.nan) -> Estimate:
    return Estimate(mean, mean - half, mean + half, 1 if math.isnan(half) else 5)


def row(method: str, weight: str = "", data: str = "movielens") -> Row:
    return Row(data, 10, 10, method, weight)


def test_there_are_six_rows_for_each_of_two_data_sets_and_four_sizes() -> None:
    sizes = {(r.data, r.dim, r.k) for r in published()}
    assert len(sizes) == 8
    assert len(published()) == 48
    assert all(set(values) == set(METRICS) for values in published().values())
    assert published()[row("LinUCB")]["clicks"] == 0.3722


def test_published_rbp_rows_on_movielens_repeat_the_clicks_of_linucb() -> None:
    for dim in (10, 20):
        for k in (5, 10):
            base = published()[Row("movielens", dim, k, "LinUCB", "")]
            rbp = published()[Row("movielens", dim, k, "EALinUCB", "rbp")]
            assert rbp["clicks"] == base["clicks"]
            assert rbp["equality_p"] != base["equality_p"]


@pytest.mark.parametrize(
    ("policy", "method", "weight"),
    [
        (LinUCB(reading="reference"), "LinUCB", ""),
        (EARSLinUCB(tolerance=1.0), "EARSLinUCB", ""),
        (FRMLinUCB(), "FRMLinUCB", ""),
        (EALinUCB(weight="rbp"), "EALinUCB", "rbp"),
    ],
)
def test_a_policy_is_held_against_the_row_of_its_name(policy, method, weight) -> None:
    assert row_of(policy, "ml-1m", 10, 5) == Row("movielens", 10, 5, method, weight)
    assert row_of(policy, "synthetic-music", 20, 5) == Row("yahoo-music", 20, 5, method, weight)


@pytest.mark.parametrize(
    "policy",
    [
        LinUCB(alpha=1.0),
        LinUCB(reranker="ears"),
        LinTS(),
        EALinUCB(gamma=0.1),
        EALinUCB(weight="linear", beta=0.2),
        EALinUCB(weight=[1.0, 2.0]),
        EALinUCB(weight=RBP(beta=0.5)),
    ],
)
def test_what_was_not_published_has_no_row(policy) -> None:
    assert row_of(policy, "ml-1m", 10, 5) is None


def test_other_data_and_sizes_have_no_row() -> None:
    assert row_of(LinUCB(), "ml-100k", 10, 10) is None
    assert row_of(LinUCB(), "ml-1m", 12, 10) is None


@pytest.mark.parametrize(
    ("which", "metric", "mean", "kind", "reason"),
    [
        (row("LinUCB"), "clicks", 0.40, "matches", "within 10%"),
        (row("LinUCB"), "clicks", 0.45, "differs", "more than 10% away"),
        (row("EALinUCB", "log"), "equality_b", 0.60, "same direction", "above LinUCB"),
        (row("EALinUCB", "log"), "equality_b", 0.30, "differs", "published: above LinUCB"),
        (row("EALinUCB", "log"), "equality_p", 0.51, "cannot be compared", "same lists"),
        (row("EALinUCB", "log"), "equity_b", 0.06, "cannot be compared", "merit"),
        (row("FRMLinUCB"), "clicks", 0.36, "cannot be compared", "does not define FRM"),
    ],
)
def test_verdicts(which: Row, metric: str, mean: float, kind: str, reason: str) -> None:
    found = judge(which, metric, ours(mean), ours(0.4), data="ml-1m", rounds=50_000)
    assert found.kind == kind
    assert reason in found.reason


def test_an_interval_that_covers_the_published_number_matches() -> None:
    found = judge(row("LinUCB"), "clicks", ours(0.45, 0.1), ours(0.45), data="ml-1m", rounds=50_000)
    assert found.kind == "matches"


def test_synthetic_data_and_short_runs_cannot_be_compared_and_say_where_they_go() -> None:
    which = row("EALinUCB", "log")
    for options in ({"data": "synthetic", "rounds": 50_000}, {"data": "ml-1m", "rounds": 100}):
        found = judge(which, "equality_b", ours(0.5), ours(0.4), **options)
        assert found.kind == "cannot be compared"
        assert "the same sign" in found.reason
        found = judge(which, "equality_b", ours(0.3), ours(0.4), **options)
        assert "another sign" in found.reason
