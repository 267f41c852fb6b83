"""Exposure of items and groups: numbers that agree with the metrics."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.experiment import Comparison
from faircascade.metrics.exposure import FAIRNESS
from faircascade.report import series
from faircascade.report.blocks import Table
from faircascade.report.sections.exposure import exposure_by_rank, mean_lorenz
from faircascade.report.sections.groups import groups


def test_the_lorenz_curve_has_the_area_of_the_metric(several: Comparison) -> None:
    for label, runs in several.environments[0].runs.items():
        for notion in "bp":
            x, y = mean_lorenz(runs, f"exposure_{notion}")
            # The Gini of a sample is that of the area under its polygon: 1 - Gini = 2 x area.
            mean = several.mean(label, f"equality_{notion}")
            assert 2 * np.trapezoid(y, x) == pytest.approx(mean)


def test_ranks_fall_and_count_who_was_never_shown(several: Comparison) -> None:
    for label, runs in several.environments[0].runs.items():
        ranks, shown, never = exposure_by_rank(runs, several.env.k)
        assert ranks[0] == 1
        assert (np.diff(shown) <= 0).all()
        assert shown.sum() == pytest.approx(1000 * several.env.k)
        assert never == pytest.approx(1 - several.mean(label, "coverage"))


def test_curves_end_at_the_mean_of_the_table(several: Comparison) -> None:
    for label, runs in several.environments[0].runs.items():
        line = series.curve(runs, "regret")
        assert line.mean[-1] == pytest.approx(several.mean(label, "regret"))
        assert (line.low <= line.mean).all()
        assert (line.mean <= line.high).all()


def test_curves_of_runs_of_unequal_length_stop_where_the_shorter_does(
    interrupted: Comparison,
) -> None:
    line = series.curve(interrupted.environments[0].runs["MostPopular"], "equality_b")
    assert line.rounds[-1] == 10


def test_shifts_are_paired_by_item_where_items_differ(several: Comparison) -> None:
    (environment,) = several.environments
    found = series.shifts(environment.runs, "LinUCB", "exposure_p", several.env.k)
    assert "LinUCB" not in found
    for shift in found.values():
        assert len(shift.exposure) + shift.left_out == 24 + 3  # three ids differ by seed
        assert (np.abs(shift.exposure) <= 200).all()
        assert (shift.exposure[shift.shown_by_baseline :] >= 0).all()


def test_fairness_over_groups_is_that_of_the_results(several: Comparison) -> None:
    for label, runs in several.environments[0].runs.items():
        for run, result in zip(runs, several.results[label], strict=True):
            sums = run.group_sums["genre"]
            for metric in FAIRNESS:
                expected = result.measure(metric, group="genre")
                assert run.value(f"group.genre.{metric}") == pytest.approx(expected)
            assert sum(sums.shares().values()) == pytest.approx(1)
            assert sum(sums.merit.values()) == pytest.approx(1)


def test_the_most_exposed_groups_are_listed_first(several: Comparison) -> None:
    tables = [block for block in groups(several) if isinstance(block, Table)]
    assert [table.size for table in tables] == [4, 12, 4, 1]
    assert "the 12 most exposed of 16 groups" in tables[1].title
    assert tables[1].groups[0].rows[0].label == "crime"
    (row,) = tables[3].groups[0].rows
    assert [line.text for (line,) in row.cells] == ["24", *["100.0%"] * 5]
