"""Figures: files that open, and policies that can be told apart."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.experiment import Comparison
from faircascade.experiment.comparison_inputs import distinct_labels
from faircascade.policies import EALinUCB, LinUCB, Policy, Random
from faircascade.report.policy_styles import policy_styles
from faircascade.report.style import NEUTRAL, legend_label, line_styles, plain_number, wrapped_label

POLICIES: list[Policy] = [
    Random(),
    *(LinUCB(alpha=alpha) for alpha in (0.25, 0.5, 1.0, 2.0, 4.0)),
    *(
        EALinUCB(weight=weight, gamma=gamma)
        for weight, gamma in product(("log", "rbp", "linear"), (0.0, 0.1, 0.2))
    ),
]


@pytest.mark.parametrize("report", ["several_page", "hostile_page", "study_page"])
@pytest.mark.slow
def test_every_figure_is_a_small_png_and_an_svg(
    report: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(report).parent / "figures"
    for file in folder.glob("*.png"):
        png = file.read_bytes()
        assert png.startswith(b"\x89PNG\r\n")
        assert 3_000 < len(png) < 400_000
        svg = file.with_suffix(".svg").read_text(encoding="utf-8")
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert "<text" in svg
        assert "<dc:date>" not in svg
        assert len(svg) < 500_000


def test_labels_are_drawn_as_they_are(hostile_page: Path, hostile: Comparison) -> None:
    svg = (hostile_page.parent / "figures" / "comparison-curves-1.svg").read_text(encoding="utf-8")
    drawn = {e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")}
    assert set(hostile.labels[:2]) <= drawn


def test_the_points_of_the_scatter_are_rasterised(several_page: Path) -> None:
    svg = (several_page.parent / "figures" / "comparison-items.svg").read_text(encoding="utf-8")
    assert svg.count("<image") >= 3


@given(st.permutations(POLICIES).flatmap(lambda p: st.integers(2, len(p)).map(lambda n: p[:n])))
def test_no_two_policies_look_alike(policies: list[Policy]) -> None:
    """Whatever is compared, lines differ in colour or dashes, and points in colour or marker."""
    drawn = policy_styles(distinct_labels(policies), policies).values()
    assert len({(look.colour, str(look.dashes)) for look in drawn}) == len(policies)
    assert len({(look.colour, look.marker) for look in drawn}) == len(policies)
    assert [look.colour for look in drawn].count(NEUTRAL) == 1


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


def test_wrapped_labels_lose_no_word_that_fits() -> None:
    assert wrapped_label("EALinUCB log (beta=0.5, gamma=0.1)", 20).replace("\n", " ") == (
        "EALinUCB log (beta=0.5, gamma=0.1)"
    )
    assert max(map(len, wrapped_label("x" * 100, 20).split("\n"))) <= 20


def test_tick_labels_have_no_powers() -> None:
    assert [plain_number(v) for v in (100000, 1, 0.1, 0.00001)] == [
        "100,000",
        "1",
        "0.1",
        "0.00001",
    ]
