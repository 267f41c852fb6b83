"""The tables: numbers as text, the best marked, changes with their direction."""

from __future__ import annotations

import math

import numpy as np
import pytest

from faircascade.engine import HEADLINE
from faircascade.experiment import Comparison
from faircascade.report.tables import ByGroup, group_tables, metric_table, number, percent, share


def test_numbers_have_about_four_digits_and_a_real_minus() -> None:
    values = (0.39641, -1.5, 21.4174, 123.456, 45678.9, math.nan, math.inf)
    assert [number(v) for v in values] == [
        "0.3964", "−1.5000", "21.42", "123.5", "45,679", "–", "–"
    ]  # fmt: skip
    assert number(3.21, like=123.0) == "3.2"
    assert [percent(v) for v in (-3.14, -0.01, 1234.5, math.nan)] == [
        "−3.1%",
        "0.0%",
        "+1,234%",
        "–",
    ]
    assert share(math.nan) == "–"


def test_marks_agree_with_the_comparison(several: Comparison) -> None:
    table = metric_table(several, several.metrics)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            assert cell.best == (row.label in several.best(column.metric))
            assert cell.value == number(several.mean(row.label, column.metric))


def test_less_regret_is_better_and_fewer_clicks_are_worse(several: Comparison) -> None:
    table = metric_table(several, HEADLINE)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            change = several.change(row.label, column.metric)
            if row.baseline:
                assert (cell.change, cell.verdict) == ("", "")
            elif abs(change) > 0.1:
                gain = -change if column.metric == "regret" else change
                assert cell.verdict == ("better" if gain > 0 else "worse")


def test_one_policy_is_not_called_the_best(single: Comparison) -> None:
    table = metric_table(single, HEADLINE)
    assert not any(cell.best for cell in table.rows[0].cells)


def test_metrics_over_groups_are_those_of_the_results(several: Comparison) -> None:
    grouped = ByGroup(several.results, column="genre")
    expected = np.mean([r.measure("equity_p", group="genre") for r in several.results["Random"]])
    assert grouped.mean("Random", "equity_p") == pytest.approx(expected)


def test_groups_are_listed_by_exposure_with_shares_that_add_up(several: Comparison) -> None:
    genre, one = group_tables(several)
    assert (genre.column, genre.count, len(genre.listing), genre.left_out) == ("genre", 16, 12, 4)
    assert genre.listing[0].group == "crime"
    assert [(row.group, row.items, row.merit, set(row.shares)) for row in one.listing] == [
        ("all", 24, "100.0%", {"100.0%"})
    ]
