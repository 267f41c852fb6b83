"""Users who are not divided as planned are noticed, and others raise no alarm at any look."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.errors import ParameterError
from faircascade.service.experiments.sample_ratio import (
    ALARM,
    CONCENTRATION,
    log_evidence,
    sample_ratio,
)


def test_one_user_is_no_evidence() -> None:
    """A first user is as likely under shares drawn around the plan as under the plan."""
    assert log_evidence({"a": 1, "b": 0}, {"a": 0.3, "b": 0.7}) == pytest.approx(0)


def test_two_users_by_hand() -> None:
    """P(a, a) = 1/2 (500 + 1) / (1000 + 1) around the plan, 1/4 by the plan."""
    found = log_evidence({"a": 2, "b": 0}, {"a": 0.5, "b": 0.5})
    expected = 0.5 * (CONCENTRATION / 2 + 1) / (CONCENTRATION + 1) / 0.25
    assert found == pytest.approx(math.log(expected))


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.05, 0.95))
def test_evidence_is_a_martingale(a, b, share) -> None:
    planned = {"a": share, "b": 1 - share}
    now = log_evidence({"a": a, "b": b}, planned)
    up = log_evidence({"a": a + 1, "b": b}, planned)
    down = log_evidence({"a": a, "b": b + 1}, planned)
    expected = share * math.exp(up - now) + (1 - share) * math.exp(down - now)
    assert expected == pytest.approx(1, rel=1e-6)


def alarms(true: float, users: int, runs: int) -> float:
    """Return the share of runs in which looking after every 50 users raises an alarm."""
    found = 0
    for seed in range(runs):
        a = np.random.default_rng(seed).random(users) < true
        inside = np.cumsum(a)[49::50]
        seen = np.arange(50, users + 1, 50)
        found += any(
            sample_ratio({"a": int(x), "b": int(n - x)}, {"a": 0.1, "b": 0.1}).mismatch
            for x, n in zip(inside, seen, strict=True)
        )
    return found / runs


def test_users_divided_as_planned_raise_no_more_alarms_than_promised_at_all_looks() -> None:
    assert alarms(0.5, 5_000, 300) <= ALARM + 3 * math.sqrt(ALARM / 300)


def test_lost_users_are_noticed() -> None:
    assert alarms(0.46, 10_000, 50) > 0.9


def test_the_names_of_arms_do_not_matter() -> None:
    one = sample_ratio({"a": 90, "b": 150}, {"a": 0.2, "b": 0.3})
    other = sample_ratio({"y": 150, "x": 90}, {"x": 0.4, "y": 0.6})
    assert one.p_value == pytest.approx(other.p_value)


def test_nobody_is_no_mismatch_and_somebody_where_nobody_should_be_is() -> None:
    assert sample_ratio({"a": 0, "b": 0}, {"a": 0.5, "b": 0.5}).p_value == 1
    assert sample_ratio({"a": 5, "b": 1}, {"a": 0.5, "b": 0.0}).mismatch


def test_users_of_other_arms_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"users must be of the arms a, b, got \{'a': 1\}"):
        sample_ratio({"a": 1}, {"a": 0.5, "b": 0.5})
    with pytest.raises(ParameterError, match="shares must be >= 0 and not all 0"):
        sample_ratio({"a": 1}, {"a": 0.0})
