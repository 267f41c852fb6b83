"""The figures of studies: colours that stay, labels with room, and many policies."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure

from faircascade.experiment.spec import Spec
from faircascade.experiment.study import Study
from faircascade.policies import EALinUCB, EARSLinUCB, LinUCB
from faircascade.report.blocks import Listing, Prose
from faircascade.report.pages import CaptionedFigure
from faircascade.report.policy_styles import policy_styles
from faircascade.report.sections.environment import environment
from faircascade.report.sections.exploration import exploration
from faircascade.report.sections.gammas import gammas
from faircascade.report.sections.items import items
from faircascade.report.sections.labels import Point, label_points
from faircascade.report.sections.regret_bound import bound
from faircascade.report.style import NEUTRAL, drawing
from tests.report.runs import study_of

SPEC = """
name = "many"
[data]
name = "synthetic"
[environment]
dim = 4
k = 3
[run]
rounds = 6
seeds = 2
checkpoints = 4
[[policies]]
name = "linucb"
[[policies]]
name = "random"
[[policies]]
name = "ealinucb"
weight = "linear"
beta.grid = [0.1, 0.2, 0.3]
gamma.grid = [0.0, 0.1, 0.3]
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_of(Spec.parse(SPEC), tmp_path_factory.mktemp("many"), users=20, items=60)


def only_plate(blocks: object) -> CaptionedFigure:
    found = [block for block in blocks if isinstance(block, CaptionedFigure)]  # type: ignore[attr-defined]
    return found[0]


def test_a_kind_of_policy_has_its_colour_whatever_else_is_drawn() -> None:
    few = policy_styles(["LinUCB", "EA"], [LinUCB(), EALinUCB(weight="linear")])
    policies = [LinUCB(), EARSLinUCB(), EARSLinUCB(tolerance=1.0), EALinUCB(weight="linear")]
    more = policy_styles(["LinUCB", "EARS 0.05", "EARS 1", "EA"], policies)
    assert few["LinUCB"].colour == more["LinUCB"].colour == NEUTRAL
    assert few["EA"].colour == more["EA"].colour
    assert more["EARS 0.05"].colour == more["EARS 1"].colour
    assert more["EARS 0.05"].dashes != more["EARS 1"].dashes


def test_the_baseline_is_grey_wherever_it_stands() -> None:
    policies = [LinUCB(), EALinUCB(weight="log"), EALinUCB(weight="linear")]
    for baseline in ("a", "b", "c"):
        drawn = policy_styles(["a", "b", "c"], policies, baseline=baseline)
        assert list(drawn) == ["a", "b", "c"]
        assert [label for label in drawn if drawn[label].colour == NEUTRAL] == [baseline]
        assert drawn[baseline].width == 3.0


def test_one_kind_alone_is_told_apart_by_colour() -> None:
    drawn = policy_styles(["a", "b", "c"], [LinUCB(alpha=alpha) for alpha in (0.25, 1.0, 5.0)])
    assert len({look.colour for look in drawn.values()}) == 3


def test_labels_stay_inside_and_cover_nothing() -> None:
    rng = np.random.default_rng(0)
    with drawing():
        figure = Figure(figsize=(4, 3))
        ax = figure.subplots()
        lines = [
            [Point(*rng.random(2), f"0.{i}{j}", "black", 4.0) for j in range(12)] for i in range(2)
        ]
        ax.set(xlim=(0, 1), ylim=(0, 1))
        label_points(ax, lines)
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts]
        places = ax.transData.transform([(p.x, p.y) for line in lines for p in line])
    assert 3 <= len(boxes) < 24
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.contains(*place) for box in boxes for place in places)
    outer = ax.get_window_extent()
    assert all(outer.x0 <= box.x0 and box.x1 <= outer.x1 for box in boxes)


def test_too_many_policies_for_a_grid_are_named_instead(many: Study) -> None:
    with drawing():
        plate = only_plate(items(many))
    assert "left out: EALinUCB linear (beta=0.2, gamma=0.3)" in plate.caption
    assert "seeds 1, 2 together" in plate.caption
    panels = [ax for ax in plate.figure.axes if ax.get_title(loc="left")]
    assert len(panels) == 5


def test_points_of_a_penalty_are_means_over_seeds_in_the_order_of_gamma(many: Study) -> None:
    (environment,) = many.environments
    with drawing():
        plate = only_plate(gammas(many))
    lines = [line for line in plate.figure.axes[0].lines if len(line.get_xdata()) == 3]
    expected = [
        [
            environment.values(f"EALinUCB linear (beta={beta}, gamma={gamma})", "clicks").mean()
            for gamma in (0.0, 0.1, 0.3)
        ]
        for beta in (0.1, 0.2, 0.3)
    ]
    assert np.allclose([line.get_xdata() for line in lines], expected)
    assert "without a penalty (LinUCB, Random)" in plate.caption


def test_exploration_and_regret_are_drawn_for_all_that_have_them(many: Study) -> None:
    with drawing():
        explored = only_plate(exploration(many))
        plate = only_plate(bound(many))
    assert len(explored.figure.axes[0].lines) == 10
    assert "without a bonus: Random." in explored.caption
    left = plate.figure.axes[0]
    assert [ax.get_title(loc="left") for ax in plate.figure.axes] == ["Stated conditions not met"]
    rounds, line = (np.asarray(part) for part in left.lines[-2].get_data())
    assert np.array_equal(rounds, line)  # regret = n
    assert (np.asarray(left.lines[0].get_ydata()) <= many.spec.rounds).all()


def test_what_the_proof_needs_is_said_once_for_all_seeds(many: Study) -> None:
    with drawing():
        *_, said = bound(many)
    assert isinstance(said, Prose)
    assert said.text.count("for every user and item") == 1
    assert "not met in 2 of 2 splits" in said.text


def test_facts_about_the_environment_are_means_over_seeds(many: Study) -> None:
    listing, *cautions = environment(many)
    (found,) = many.environments
    optimal = np.mean([run.about["facts"]["optimal_value"] for run in found.runs["LinUCB"]])
    assert isinstance(listing, Listing)
    assert ("Value of the optimal slates", f"{optimal:.3f}") in listing.entries
    assert any("no features" in str(caution) for caution in cautions)
