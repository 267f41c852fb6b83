"""The published numbers, which policy they belong to, and what can be said of ours."""

from __future__ import annotations

import math
from typing import Any

import pytest

from faircascade.experiment.environment_options import flat_options
from faircascade.experiment.stats import Estimate
from faircascade.paper.published import METRICS, PublishedRow, published, row_of
from faircascade.paper.verdict import STILL, Verdict, judge
from faircascade.policies import EALinUCB, EARSLinUCB, FRMLinUCB, LinTS, LinUCB
from faircascade.rewards import RBP


def row(method: str, weight: str = "", data: str = "movielens") -> PublishedRow:
    return PublishedRow(data, 10, 10, method, weight)


def test_there_are_six_rows_for_each_of_two_data_sets_and_four_sizes() -> None:
    sizes = {(r.data, r.dim, r.k) for r in published()}
    assert len(sizes) == 8
    assert len(published()) == 48
    assert all(set(values) == set(METRICS) for values in published().values())
    assert published()[row("LinUCB")]["clicks"] == 0.3722


def test_published_rbp_rows_on_movielens_repeat_the_clicks_of_linucb() -> None:
    for dim in (10, 20):
        for k in (5, 10):
            base = published()[PublishedRow("movielens", dim, k, "LinUCB", "")]
            rbp = published()[PublishedRow("movielens", dim, k, "EALinUCB", "rbp")]
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
    assert row_of(policy, "ml-1m", 10, 5) == PublishedRow("movielens", 10, 5, method, weight)
    assert row_of(policy, "synthetic-music", 20, 5) == PublishedRow(
        "yahoo-music", 20, 5, method, weight
    )


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


OPTIONS = {**flat_options({"world": "paper"}), "align": "none", "zero_rows": "keep"}


def verdict(
    which: PublishedRow, metric: str, ours: float, linucb: float, **changed: Any
) -> Verdict:
    """Judge a number of ours next to our LinUCB, in the paper's setting but for what is given."""
    setting = {"policy": LinUCB(), "data": "ml-1m", "options": OPTIONS, "rounds": 50_000}
    estimate = Estimate(ours, math.nan, math.nan, 1)
    return judge(which, metric, estimate, ours / linucb - 1, **(setting | changed))


@pytest.mark.parametrize(
    ("which", "metric", "ours", "linucb", "kind", "reason"),
    [
        (row("LinUCB"), "clicks", 0.40, 0.40, "matches", "within 10%"),
        (row("LinUCB"), "clicks", 0.45, 0.45, "differs", "more than 10% away"),
        (row("EALinUCB", "log"), "clicks", 0.38, 0.39, "matches", "below LinUCB, as published"),
        (row("EALinUCB", "log"), "clicks", 0.38, 0.37, "differs", "published: below"),
        (row("EALinUCB", "log"), "clicks", 0.38, 0.38, "differs", "equal to LinUCB"),
        (row("EALinUCB", "log"), "clicks", 0.30, 0.31, "same direction", "more than 10% away"),
        (row("EALinUCB", "log"), "equality_b", 0.60, 0.40, "same direction", "above LinUCB"),
        (row("EALinUCB", "log"), "equality_b", 0.30, 0.40, "differs", "published: above"),
        (row("EALinUCB", "log"), "equality_b", 0.50, 0.60, "differs", "published: above"),
        (row("EARSLinUCB"), "clicks", 0.39, 0.389, "matches", "equal to LinUCB, as published"),
        (row("EALinUCB", "log"), "equality_p", 0.51, 0.4, "cannot be compared", "same slates"),
        (row("EALinUCB", "log"), "equity_b", 0.06, 0.05, "cannot be compared", "merit"),
        (row("FRMLinUCB"), "clicks", 0.36, 0.37, "cannot be compared", "does not define FRM"),
    ],
)
def test_verdicts(
    which: PublishedRow, metric: str, ours: float, linucb: float, kind: str, reason: str
) -> None:
    found = verdict(which, metric, ours, linucb)
    assert found.kind == kind
    assert reason in found.reason


def test_a_policy_that_does_what_linucb_does_does_not_match_the_rows_of_others() -> None:
    """The published LinUCB numbers in every EALinUCB row, where these moved at all."""
    matched = []
    for which, values in published().items():
        if which.data != "movielens" or which.method != "EALinUCB" or which.weight == "rbp":
            continue
        base = published()[which._replace(method="LinUCB", weight="")]
        for metric in ("clicks", "equality_b"):
            if abs(values[metric] / base[metric] - 1) >= STILL:
                matched.append(verdict(which, metric, base[metric], base[metric]).kind == "matches")
    assert len(matched) == 16
    assert not any(matched)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"data": "synthetic"}, "synthetic"),
        ({"rounds": 100}, "100 rounds instead of 50,000"),
        ({"options": OPTIONS | {"users": 25}}, "users is 25 instead of 1000"),
        ({"options": OPTIONS | {"sampling": "random"}}, "sampling is random"),
        ({"options": OPTIONS | {"align": "sign"}}, "align is sign instead of none"),
        ({"options": OPTIONS | {"zero_rows": "exclude"}}, "zero_rows is exclude"),
        ({"policy": LinUCB(sigma=3.0)}, "sigma is 3 instead of 1"),
    ],
)
def test_another_setting_than_the_papers_cannot_be_compared(changed: Any, reason: str) -> None:
    found = verdict(row("EALinUCB", "log"), "equality_b", 0.5, 0.4, **changed)
    assert found.kind == "cannot be compared"
    assert reason in found.reason
    assert "the same sign" in found.reason
    other = verdict(row("EALinUCB", "log"), "equality_b", 0.3, 0.4, **changed)
    assert "another sign" in other.reason


def test_clicks_do_not_hang_on_signs_and_zero_rows() -> None:
    options = OPTIONS | {"align": "sign", "zero_rows": "exclude"}
    assert verdict(row("LinUCB"), "clicks", 0.38, 0.38, options=options).kind == "matches"
