"""Experiments that are watched raise few false alarms, and find what there is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.service.simulated_experiment import MEASURES, Outcome, experiment


def outcomes(seeds: range, **options: Any) -> list[Outcome]:
    async def all_of_them() -> list[Outcome]:
        return [await experiment(seed, **options) for seed in seeds]

    return asyncio.run(all_of_them())


def test_a_restart_before_every_look_changes_nothing_that_is_said() -> None:
    """Neither counts nor sequences begin anew: all is as in a service that runs all the time."""
    assert outcomes(range(2), restarts=True) == outcomes(range(2))


def test_a_known_difference_is_found() -> None:
    found = outcomes(range(3), lift=0.4, slates=450, users=2_000, even=True)
    assert [one.found for one in found] == ["more"] * 3
    for one in found:
        clicks = one.comparisons["clicks_per_slate"]
        assert clicks["low_percent"] < 40 < clicks["high_percent"]


@pytest.mark.slow
def test_few_of_many_equal_arms_are_said_to_differ() -> None:
    """At 5% a measure, six of fifty are as many as come in one of thirty such tests. The seeds are
    fixed; `benchmarks/experiments_service.py` looks at a thousand."""
    found = outcomes(range(50))
    for measure in MEASURES:
        assert sum(one.ready[measure] for one in found) >= 45
        assert sum(one.alarms[measure] for one in found) <= 5
    assert not any(one.mismatch for one in found)
