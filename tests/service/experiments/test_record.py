"""The record of an experiment."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from faircascade.service.experiments.record import (
    FIRST_GAP,
    MOST_LOOKS,
    MOST_PERIODS,
    Period,
    Record,
)


def said(slates: int) -> dict[str, Any]:
    difference = {"answer": "open", "value": 0.1, "low": None, "high": None}
    comparison = {**difference, "text": "keep running", "slates_left": None}
    return {
        "arms": {"control": {"slates": slates}, "fairer": {"slates": slates}},
        "comparisons": {"fairer": {"clicks_per_slate": comparison}},
        "sample_ratio": {"mismatch": False},
    }


def watched(looks: int, every: float = FIRST_GAP) -> Period:
    period = Period(key="test/2", since=0.0, shares={}, origins={})
    for n in range(looks):
        period = period.looked(said(n), {}, n * every)
    return period


def test_a_look_is_kept_without_its_words() -> None:
    (look,) = watched(1).looks
    assert look["slates"] == 0
    found = look["comparisons"]["fairer"]["clicks_per_slate"]
    assert found == {"answer": "open", "value": 0.1, "low": None, "high": None}


@pytest.mark.parametrize("looks", [1, MOST_LOOKS, MOST_LOOKS + 1, 500, 20_000])
def test_looks_stay_few_and_evenly_spread_however_long_it_takes(looks: int) -> None:
    period = watched(looks)
    times = [look["time"] for look in period.looks]
    assert len(times) <= MOST_LOOKS
    assert len(times) >= min(looks, MOST_LOOKS // 2)
    assert times[0] == 0.0
    gaps = {b - a for a, b in pairwise(times)}
    assert gaps <= {period.gap}


def test_nothing_is_written_between_the_looks_that_are_kept() -> None:
    period = watched(3)
    assert period.looked(said(9), {}, 2 * FIRST_GAP + 1) is period
    assert period.looked(said(9), {"difference/fairer/clicks_per_slate": 2.0}, 21.0) is not period
    assert period.looked(said(9), {}, 21.0, last=True).last == said(9)


def test_periods_before_keep_fewer_looks() -> None:
    record = Record(since=0.0)
    for n in range(MOST_PERIODS + 3):
        period = record.of(f"test/{n}", float(n), {"control": 1.0})
        assert period.origins == {}
        for turn in range(MOST_LOOKS):
            period = period.looked(said(turn), {"a": 1.0}, turn * FIRST_GAP)
            record = record.with_period(period)
    assert len(record.periods) == MOST_PERIODS
    assert [len(one.looks) for one in record.periods] == [20] * (MOST_PERIODS - 1) + [60]
    assert all(one.looks[-1]["slates"] == 2 * (MOST_LOOKS - 1) for one in record.periods)


def test_it_is_the_same_as_plain_data_and_another_experiment_has_another() -> None:
    record = Record(since=5.0).with_period(watched(70))
    plain = json.loads(json.dumps(record.to_json()))
    assert Record.from_json(plain, 5.0) == record
    assert Record.from_json(plain, 6.0) == Record(since=6.0)
    assert Record.from_json(None, 6.0) == Record(since=6.0)
    with pytest.raises(ValueError, match="record of version 9"):
        Record.from_json({**plain, "version": 9}, 5.0)
