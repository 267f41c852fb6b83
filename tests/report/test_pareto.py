"""Fronts: against brute force, in panels whose better side is always up and right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.engine import HEADLINE
from faircascade.experiment.spec import Spec
from faircascade.experiment.study import Study
from faircascade.metrics.exposure import FAIRNESS
from faircascade.report.answer import fairness_metrics
from faircascade.report.blocks import Block, Prose
from faircascade.report.pages import CaptionedFigure
from faircascade.report.sections.curves import curves
from faircascade.report.sections.pareto import (
    pareto,
)
from faircascade.report.sections.pareto_front import Place, front
from faircascade.report.sections.pareto_panel import on_front, standings
from faircascade.report.similar_metrics import without_twins
from faircascade.report.style import PALE, drawing
from tests.report.runs import study_of

GRID = """
name = "grid"
show = ["table", "pareto", "curves"]
[data]
name = "synthetic"
[environment]
dim = 4
k = 3
[run]
rounds = 8
seeds = 2
checkpoints = 4
[[policies]]
name = "linucb"
alpha.grid = [0.1, 0.25, 1.0, 4.0, 8.0]
[[policies]]
name = "random"
rounds = 4
[[policies]]
name = "ealinucb"
weight.grid = ["log", "linear"]
gamma.grid = [0.0, 0.1]
alpha.grid = [0.25, 1.0]
"""

places = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_of(Spec.parse(GRID), tmp_path_factory.mktemp("grid"), users=20, items=60)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Study:
    text = GRID.replace("[0.1, 0.25, 1.0, 4.0, 8.0]", "[0.25, 1.0]").replace(
        "gamma.grid = [0.0, 0.1]\nalpha.grid = [0.25, 1.0]\n", ""
    )
    return study_of(Spec.parse(text), tmp_path_factory.mktemp("few"), users=20, items=60)


def drawn(blocks: Sequence[Block]) -> CaptionedFigure:
    return next(block for block in blocks if isinstance(block, CaptionedFigure))


@given(places)
def test_the_front_is_what_nobody_beats(points: list[tuple[int, int]]) -> None:
    found = front({i: Place(float(x), float(y)) for i, (x, y) in enumerate(points)})
    expected = {
        i
        for i, (x, y) in enumerate(points)
        if not any(u >= x and v >= y and (u, v) != (x, y) for u, v in points)
    }
    assert set(found) == expected
    along = [points[i] for i in found]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in pairwise(along))


@given(places)
def test_everyone_off_the_front_is_beaten_by_someone_on_it(points: list[tuple[int, int]]) -> None:
    found = front({i: Place(float(x), float(y)) for i, (x, y) in enumerate(points)})
    for i, (x, y) in enumerate(points):
        ahead = [points[j] for j in found]
        assert i in found or any(u >= x and v >= y for u, v in ahead)


def test_who_has_no_value_is_not_on_the_front() -> None:
    assert front({"a": Place(1.0, float("nan")), "b": Place(0.0, 0.0)}) == ["b"]


def test_panels_are_the_metrics_of_exposure_that_a_spec_names(grid: Study) -> None:
    assert fairness_metrics(grid.metrics) == FAIRNESS == HEADLINE[2:]
    assert fairness_metrics(("clicks", "coverage")) == ("coverage",)
    assert fairness_metrics(("clicks", "regret")) == FAIRNESS


def test_up_and_right_is_better_also_where_less_is(grid: Study) -> None:
    spec = replace(grid.spec, metrics=("clicks", "equality_b", "fairness_regret"))
    with drawing():
        plate = drawn(pareto(replace(grid, spec=spec)))
    higher, lower = plate.figure.axes[:2]
    assert not higher.yaxis_inverted()
    assert lower.yaxis_inverted()
    assert "lower is better: axis inverted" in lower.get_title(loc="left")
    panel = standings(grid.environments[0], "fairness_regret")
    means = {s.label: (s.clicks.mean, s.fairness.mean) for s in panel}
    for label in on_front(panel, "fairness_regret"):
        clicks, regret = means[label]
        assert not any(x > clicks and y < regret for x, y in means.values())


def test_points_and_arms_are_the_means_and_intervals_of_the_table(grid: Study) -> None:
    (environment,) = grid.environments
    with drawing():
        ax = drawn(pareto(grid)).figure.axes[0]
    panel = standings(environment, "equality_b")
    at = {tuple(np.ravel(line.get_xydata())) for line in ax.lines if len(line.get_xdata()) == 1}
    assert {(s.clicks.mean, s.fairness.mean) for s in panel} <= at
    assert len(ax.containers) == len(panel)
    assert all(s.clicks.low < s.clicks.mean < s.clicks.high for s in panel)


def test_many_policies_are_numbered_in_the_order_of_the_tables(grid: Study) -> None:
    (environment,) = grid.environments
    with drawing():
        plate = drawn(pareto(grid))
    (legend,) = plate.figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[0] == f"1  {environment.baseline} (baseline)"
    assert [word.split("  ")[0] for word in words[:-1]] == [
        str(place) for place, label in enumerate(environment.runs, 1) if label != "Random"
    ]
    assert words[-1] == "Pareto front"
    shown = {text.get_text() for text in plate.figure.axes[0].texts}
    assert shown <= {str(place) for place, _ in enumerate(environment.runs, 1)}
    assert "Numbers refer to the legend" in plate.caption


def test_a_shorter_run_is_not_drawn_among_the_others(grid: Study) -> None:
    (environment,) = grid.environments
    with drawing():
        plate = drawn(pareto(grid))
    assert "Not drawn, as they ran fewer rounds: Random (4)." in plate.caption
    (legend,) = plate.figure.legends
    assert not any("Random" in text.get_text() for text in legend.get_texts())
    for metric in FAIRNESS:
        assert "Random" not in on_front(standings(environment, metric), metric)


def test_after_the_answer_only_the_closer_look_is_new(grid: Study) -> None:
    spec = replace(grid.spec, show=("answer", "pareto"))
    with drawing():
        both, close = (
            [block for block in pareto(of) if isinstance(block, CaptionedFigure)]
            for of in (grid, replace(grid, spec=spec))
        )
    assert [plate.name for plate in both] == ["pareto-1", "pareto-1-close"]
    assert [plate.name for plate in close] == ["pareto-1-close"]


def test_a_metric_by_position_that_looks_like_its_twin_is_not_drawn_twice(grid: Study) -> None:
    (environment,) = grid.matched
    kept = without_twins(environment, FAIRNESS)
    assert [metric for metric in FAIRNESS if metric.endswith("_b")] == kept
    with drawing():
        blocks = pareto(grid)
    assert len(drawn(blocks).figure.axes) == len(kept)
    (words,) = [block.text for block in blocks if isinstance(block, Prose)]
    assert "Not drawn, but in the tables: Equality (P) looks like Equality (B)" in words
    ears = {"equality_b": [0.5, 0.5], "equality_p": [0.5, 0.6]}

    class Two:
        baseline, comparable = "a", ("a", "b")
        runs: ClassVar = {"a": (1,), "b": (1,)}

        def paired(self, label: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
            return np.array([ears[metric]["ab".index(label)]]), np.array([ears[metric][0]])

    assert without_twins(Two(), tuple(ears)) == list(ears)  # type: ignore[arg-type]


def test_the_front_is_named_in_words(grid: Study) -> None:
    (environment,) = grid.environments
    with drawing():
        section = pareto(grid)
    (words,) = [block.text for block in section if isinstance(block, Prose)]
    for metric in FAIRNESS:
        assert ", ".join(on_front(standings(environment, metric), metric)) in words


def test_many_lines_are_pale_but_for_the_baseline_and_the_best(grid: Study) -> None:
    (environment,) = grid.environments
    with drawing():
        plate = drawn(curves(grid))
    ax = plate.figure.axes[0]
    pale = [line for line in ax.lines if line.get_color() == PALE["color"]]
    best = {
        max(environment.runs, key=lambda name: sign * environment.values(name, metric).mean())
        for metric, sign in ((m, -1 if m == "regret" else 1) for m in HEADLINE)
    }
    told = {environment.baseline, *best}
    assert len(pale) == len(environment.runs) - len(told)
    assert f"the {len(pale)} others are pale" in plate.caption
    (legend,) = plate.figure.legends
    assert legend.get_texts()[-1].get_text() == f"{len(pale)} others"


def test_few_lines_are_all_told_apart_and_end_at_the_means(few: Study) -> None:
    (environment,) = few.environments
    with drawing():
        plate = drawn(curves(few))
    metrics = without_twins(environment, HEADLINE)
    for ax, metric in zip(plate.figure.axes, metrics, strict=True):
        ends = sorted(float(line.get_ydata()[-1]) for line in ax.lines if len(line.get_xdata()) > 2)
        means = sorted(
            float(environment.values(label, metric).mean()) for label in environment.runs
        )
        assert ends == pytest.approx(means)
