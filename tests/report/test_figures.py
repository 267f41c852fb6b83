"""The figures: files that open, and numbers that agree with the metrics."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from faircascade.experiment import Comparison
from faircascade.metrics.exposure import exposure_b, exposure_p
from faircascade.report import figures, series
from faircascade.report.style import NEUTRAL, drawing, legend_label, line_styles, plain_number


@pytest.mark.parametrize("name", figures.FIGURES)
@pytest.mark.parametrize("report", ["several_page", "hostile_page"])
def test_every_figure_is_a_small_png_and_an_svg(
    name: str, report: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(report).parent / "figures"
    png = (folder / f"{name}.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n")
    assert 3_000 < len(png) < 250_000
    svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert "<text" in svg
    assert "<dc:date>" not in svg
    assert len(svg) < 400_000


def test_labels_are_drawn_as_they_are(hostile_page: Path, hostile: Comparison) -> None:
    svg = (hostile_page.parent / "figures" / "curves.svg").read_text(encoding="utf-8")
    drawn = {e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")}
    assert set(hostile.labels[:2]) <= drawn


def test_the_points_of_the_scatter_are_rasterised(several_page: Path) -> None:
    svg = (several_page.parent / "figures" / "items.svg").read_text(encoding="utf-8")
    assert svg.count("<image") >= 3


def test_one_policy_has_no_changes_to_draw(single: Comparison) -> None:
    with drawing():
        assert [plate.name for plate in figures.draw(single)] == [
            name for name in figures.FIGURES if name != "items"
        ]


def test_without_a_bonus_the_exploration_figure_says_so(single: Comparison) -> None:
    with drawing():
        plate = figures.exploration(single)
    assert plate.figure.axes[0].texts[0].get_text() == "No policy explores by a bonus"
    assert "not drawn: Random" in plate.caption


def test_the_lorenz_curve_has_the_area_of_the_metric(several: Comparison) -> None:
    for label, runs in several.results.items():
        for metric, notion in (("equality_b", exposure_b), ("equality_p", exposure_p)):
            x, y = series.mean_lorenz(runs, notion)
            # The Gini of a sample is that of the area under its polygon: 1 - Gini = 2 x area.
            assert 2 * np.trapezoid(y, x) == pytest.approx(several.mean(label, metric))


def test_curves_end_at_the_mean_of_the_table(several: Comparison) -> None:
    for label, runs in several.results.items():
        line = series.curve(runs, "regret")
        assert line.mean[-1] == pytest.approx(several.mean(label, "regret"))
        assert (line.low <= line.mean).all()
        assert (line.mean <= line.high).all()


def test_curves_of_runs_of_unequal_length_stop_where_the_shorter_does(
    interrupted: Comparison,
) -> None:
    line = series.curve(interrupted.results["MostPopular"], "equality_b")
    assert line.rounds[-1] == 10


def test_ranks_fall_and_count_who_was_never_shown(several: Comparison) -> None:
    for label, runs in several.results.items():
        ranks, shown, unseen = series.exposure_by_rank(runs)
        assert ranks[0] == 1
        assert (np.diff(shown) <= 0).all()
        assert unseen == pytest.approx(1 - several.mean(label, "coverage"))


def test_shifts_are_paired_by_item_where_items_differ(
    several: Comparison,
) -> None:
    shift = series.shift(several, "Random")
    assert len(shift.exposure) + shift.left_out == 24 + 3  # three ids differ by seed
    assert (np.abs(shift.exposure) <= 200).all()
    assert (shift.exposure[shift.shown_by_baseline :] >= 0).all()
    assert np.array_equal(series.shift(several, "LinUCB").exposure, np.zeros(len(shift.exposure)))


def test_exploration_averages_to_the_mean_bonus(several: Comparison) -> None:
    runs = several.results["LinUCB"]
    rounds, bonus = series.exploration(runs)
    by_round = np.mean([run.exploration_by_round for run in runs], axis=0)
    assert rounds[0] == 1
    assert bonus[0] == pytest.approx(by_round[0])
    assert by_round.min() <= bonus.min() <= bonus.max() <= by_round.max()


def test_thirty_policies_are_told_apart() -> None:
    drawn = line_styles([f"policy {i}" for i in range(31)])
    styles = {(look.colour, str(look.dashes)) for look in drawn.values()}
    assert len(styles) == 31
    assert drawn["policy 0"].colour == NEUTRAL
    assert [look.colour for look in drawn.values()].count(NEUTRAL) == 1


def test_legend_labels_keep_both_ends_of_a_long_name() -> None:
    short = legend_label("EALinUCB log (" + "x" * 100 + ", gamma=0.1)\n")
    assert len(short) == 34
    assert short.startswith("EALinUCB log")
    assert short.endswith("gamma=0.1)")
    assert legend_label(" \t ") == "(no label)"


def test_tick_labels_have_no_powers() -> None:
    assert [plain_number(v) for v in (100000, 1, 0.1, 0.00001)] == [
        "100,000",
        "1",
        "0.1",
        "0.00001",
    ]
