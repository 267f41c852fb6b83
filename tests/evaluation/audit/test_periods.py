"""Periods depend on the first and the last time alone, and lose nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.evaluation.audit.periods import Periods
from tests.evaluation.audit.logs import random_slates, table

milliseconds = st.integers(-(10**9), 10**9).map(lambda number: number / 1000)
times = st.lists(milliseconds, min_size=1, max_size=30)


@given(times, st.integers(2, 20), st.randoms())
def test_periods_are_few_and_do_not_depend_on_the_order(values, most, random) -> None:
    shuffled = random.sample(values, len(values))
    one, other = Periods(most, calendar=False), Periods(most, calendar=False)
    one.stretch(np.array(values))
    for value in shuffled:
        other.stretch(np.array([value]))
    assert np.array_equal(one.starts, other.starts)
    rows = one.rows(np.array(values))
    assert rows.min() >= 0
    assert rows.max() < len(one.starts) <= most
    starts = one.starts[rows]
    assert ((starts <= values) & (np.array(values) < starts + one.length)).all()


def test_old_periods_move_into_longer_ones() -> None:
    periods = Periods(4, calendar=True)
    assert periods.stretch(np.array([864e6, 864e6 + 3])) is None
    assert periods.length == 1
    moved = periods.stretch(np.array([864e6 + 59]))
    assert periods.length == 15
    assert moved is not None
    assert moved.tolist() == [0, 0, 0, 0]


def test_impressions_are_counted_where_there_are_no_times() -> None:
    found = fc.audit(table(random_slates(1, 100)), periods=10).periods
    assert found is not None
    assert found.kind == "impressions"
    assert found.length == 16
    assert found.impressions.tolist() == [16] * 6 + [4]


def test_days_are_days() -> None:
    day = 86400.0
    stamps = 1.7e9 // day * day + np.arange(100) * day / 10
    found = fc.audit(table(random_slates(2, 100), stamps.tolist())).periods
    assert found is not None
    assert (found.kind, found.length) == ("calendar", 43200.0)
    assert found.impressions.tolist() == [5] * 20


def test_a_period_is_what_an_audit_of_it_alone_says() -> None:
    slates = random_slates(3, 160)
    whole = fc.audit(table(slates), merit="equal", periods=5).periods
    assert whole is not None
    assert whole.length == 32
    alone = fc.audit(table(slates[32:64]), merit="equal", periods=0)
    assert alone.periods is None
    assert whole.metrics["clicks"].value[1] == alone.metrics["clicks"].value
    shown = {item for _, items, _ in slates for item in items}
    coverage = len({i for _, items, _ in slates[32:64] for i in items}) / len(shown)
    assert whole.metrics["coverage"].value[1] == coverage


def test_no_periods_if_none_are_wanted() -> None:
    assert fc.audit(table(random_slates(5)), periods=0).periods is None
