"""The first sentence of a page: what the results say, whatever that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from faircascade.experiment import Comparison
from faircascade.experiment.cell_result import CellOutput
from faircascade.experiment.study import Study
from faircascade.experiment.study_results import EnvironmentResults
from faircascade.policies import EALinUCB, LinUCB, Random
from faircascade.report import write_report
from faircascade.report.answer import answer
from faircascade.report.sections.answer import answer as section
from faircascade.report.sections.answer import round_top
from faircascade.report.style import drawing
from tests.report.html_page import read


def environment(
    values: Mapping[str, Sequence[tuple[float, float]]], **rounds: int
) -> EnvironmentResults:
    """Policies by label with clicks and Equality (B), one pair for each seed."""
    kinds = {"base": LinUCB(), "random": Random()}

    def run(label: str, seed: int, clicks: float, equality: float) -> CellOutput:
        about = {
            "settings": {"seed": seed, "rounds": rounds.get(label, 100)},
            "label": label,
            "metrics": {"clicks": clicks, "equality_b": equality, "regret": 1 - clicks},
            "optimal_value": 1.0,
            "largest_preference": 1.0,
            "items": 10,
        }
        return CellOutput(about, {}, {})

    return EnvironmentResults(
        data={"name": "made up"},
        given={},
        options={"dim": 2, "k": 2},
        runs={
            label: tuple(run(label, seed, *pair) for seed, pair in enumerate(pairs))
            for label, pairs in values.items()
        },
        policies={label: kinds.get(label, EALinUCB()) for label in values},
        baseline="base",
    )


def test_the_fairest_cheap_policy_is_named_and_then_the_fairest_of_all() -> None:
    found = environment(
        {
            "base": [(0.50, 0.40)],
            "slightly": [(0.50, 0.42)],
            "cheap": [(0.49, 0.50)],
            "dear": [(0.40, 0.80)],
            "random": [(0.10, 1.00)],
        }
    )
    words = answer(found, "equality_b")
    assert words == (
        "cheap gives up 2.0% of the clicks of base and shares exposure 25.0% more evenly "
        "(Equality (B) from 0.4000 to 0.5000). The fairest, dear, gives up 20.0% of the "
        "clicks of base and shares exposure 100.0% more evenly (Equality (B) from 0.4000 to "
        "0.8000). There is one seed, so chance cannot be told from effect."
    )


def test_more_clicks_and_fairer_is_said_as_it_is() -> None:
    found = environment({"base": [(0.5, 0.4)], "better": [(0.6, 0.5)]})
    assert answer(found, "equality_b").startswith("better gets 20.0% more clicks than base and")


def test_if_fairness_is_dear_the_least_dear_is_named() -> None:
    found = environment({"base": [(0.5, 0.4)], "a": [(0.40, 0.5)], "b": [(0.30, 0.9)]})
    words = answer(found, "equality_b")
    assert words.startswith("No policy that is fairer than base keeps 95% of its clicks. a gives")
    assert "The fairest, b, gives up 40.0%" in words


def test_if_nobody_is_fairer_that_is_the_answer() -> None:
    found = environment({"base": [(0.5, 0.4)], "a": [(0.6, 0.3)], "b": [(0.6, 0.2)]})
    words = answer(found, "equality_b")
    assert words.startswith(
        "No policy that learns shares exposure more evenly than base (Equality (B) 0.4000)"
    )
    assert "a, has a change of −25.0%." in words


def test_seeds_give_intervals_and_what_may_be_luck_is_not_a_gain() -> None:
    base = [(0.50, 0.40), (0.52, 0.42), (0.48, 0.41)]
    lucky = [(0.50, 0.30), (0.51, 0.60), (0.49, 0.41)]
    steady = [(0.501, 0.50), (0.51, 0.53), (0.49, 0.51)]
    luck = answer(environment({"base": base, "lucky": lucky}), "equality_b")
    assert "No policy that learns shares exposure more evenly than base" in luck
    assert "which may be luck." in luck
    words = answer(environment({"base": base, "lucky": lucky, "steady": steady}), "equality_b")
    assert words.startswith("steady changes the clicks of base by +0.1% [")
    assert "more evenly" in words
    assert words.endswith("Means over 3 seeds, with 95% intervals.")


def test_less_is_fairer_for_some_metrics() -> None:
    found = environment({"base": [(0.5, 0.4)], "a": [(0.51, 0.4)]})
    assert "a gets 2.0% more clicks than base and improves Regret by 2.0%" in answer(
        found, "regret"
    )


def test_who_ran_fewer_rounds_is_no_answer() -> None:
    found = environment({"base": [(0.5, 0.4)], "short": [(0.6, 0.9)]}, short=10)
    assert answer(found, "equality_b") == "There is nothing to compare with base yet."


def test_axes_end_at_round_numbers_so_that_pages_agree() -> None:
    assert [round_top(value) for value in (0.51, 0.53, 0.555)] == [0.6] * 3
    assert all(round_top(x / 97) > x / 97 for x in range(1, 300))


def test_a_page_begins_with_the_answer_and_ends_with_the_settings(
    several_page: Path, several: Comparison
) -> None:
    page = read(several_page)
    (figure, *_) = [attrs["id"] for tag, attrs in page.tags if tag == "figure"]
    assert figure == "figure-comparison-answer"
    places = [page.text.index(words) for words in ("What fairness costs", "more evenly")]
    assert places == sorted(places)
    text = several_page.with_suffix(".md").read_text(encoding="utf-8")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads[:2] == ["## What fairness costs", "## Results"]
    assert heads[-3:] == ["## Settings and versions", "## How to read this page", "## Files"]
    assert text.index("Fairness over all 24 items") < text.index(heads[0])


def test_the_figure_starts_at_zero_and_has_the_yardsticks(study: Study) -> None:
    with drawing():
        blocks = section(study)
    plate = blocks[1]
    ax = plate.figure.axes[0]  # type: ignore[union-attr]
    assert ax.get_ylim() == (-0.04, 1.05)
    assert ax.get_xlim()[0] == 0.0
    (environment,) = study.matched
    for name, of in environment.yardsticks.items():
        assert f"{name} slates" in plate.caption  # type: ignore[union-attr]
        assert 0 < of["clicks"] < ax.get_xlim()[1]
    assert "ran fewer rounds: FRMLinUCB merit-draws (15)" in plate.caption  # type: ignore[union-attr]


@pytest.mark.parametrize("over", ["catalogue", "eligible"])
def test_tables_say_which_items_count_and_the_others_follow(
    study: Study, over: str, tmp_path: Path
) -> None:
    spec = replace(study.spec, show=("table",))
    chosen = replace(study, spec=spec).measured(over)  # type: ignore[arg-type]
    text = read(write_report(chosen, tmp_path)).text
    about = study.environments[0].runs["LinUCB (alpha=0.25)"][0].about
    whole = f"Fairness over all {about['items']} items; "
    part = f"eligible items of {about['items']}; the others are never shown"
    first, second = (whole, part) if over == "catalogue" else (part, whole)
    assert text.index(first) < text.index(second)
    label = next(iter(study.environments[0].runs))
    rows = [row for row in read(tmp_path / "report.html").rows if row and row[0].startswith(label)]
    assert rows[0][3] != rows[1][1]  # Equality (B), by both
