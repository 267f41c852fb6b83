"""A comparison in memory and a study on disk over the same cells are reported the same."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from faircascade.data.load import load_dataset
from faircascade.engine import HEADLINE
from faircascade.environment import Environment
from faircascade.experiment import Comparison, compare
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.tables import tidy
from faircascade.experiment.study import Study
from faircascade.experiment.study_results import SHOW
from faircascade.report import SECTIONS, write_report
from faircascade.report.style import drawing
from tests.report.html_page import read
from tests.report.runs import study_of, table

SPEC = """
name = "both"
[data]
name = "synthetic"
[environment]
dim = 4
k = 3
[run]
rounds = 12
seeds = 3
checkpoints = 4
[[policies]]
name = "linucb"
[[policies]]
name = "ealinucb"
weight = "log"
gamma = 0.1
[[policies]]
name = "random"
"""


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_of(Spec.parse(SPEC), tmp_path_factory.mktemp("both"), users=20, items=60)


@pytest.fixture(scope="module")
def in_memory(on_disk: Study) -> Comparison:
    ratings = load_dataset("synthetic", users=20, items=60)
    return compare(
        lambda seed: Environment.from_ratings(ratings, dim=4, k=3, seed=seed),
        [policy for _, policy, _ in on_disk.lines],
        rounds=12,
        seeds=3,
        checkpoints=on_disk.cells[0].checkpoints,
    )


def test_the_runs_are_the_same(on_disk: Study, in_memory: Comparison) -> None:
    (stored,), (kept,) = on_disk.environments, in_memory.environments
    assert list(stored.runs) == list(kept.runs)
    for label in stored.runs:
        for one, other in zip(stored.runs[label], kept.runs[label], strict=True):
            assert one.is_paired(other)
            assert one.about["metrics"] == other.about["metrics"]
            assert one.groups == other.groups == ("genre", "supplier")
            for name in ("curves", "items"):
                ours, theirs = getattr(one, name), getattr(other, name)
                assert ours.keys() == theirs.keys()
                assert all(np.array_equal(ours[n], theirs[n]) for n in ours)


@pytest.mark.slow
def test_the_pages_have_the_same_tables(
    on_disk: Study, in_memory: Comparison, tmp_path: Path
) -> None:
    pages = [
        read(write_report(of, tmp_path / of.name, test="wilcoxon")) for of in (on_disk, in_memory)
    ]
    assert on_disk.show == in_memory.show == SHOW
    rows = [
        [row for row in page.rows if not any(re.search(r"\d (s|min)$", cell) for cell in row)]
        for page in pages
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 40
    for name in ("statistics.csv", "results.csv", "curves.csv"):
        ours, theirs = (table(tmp_path / of.name, name) for of in (on_disk, in_memory))
        for row in (*ours, *theirs):
            for other in ("spec", "environment", "align", "zero_rows"):
                row.pop(other, None)
        assert ours == theirs


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_that_one_can_draw_the_other_can(
    name: str, on_disk: Study, in_memory: Comparison
) -> None:
    kind = SECTIONS[name]
    assert kind.why_not(on_disk) == kind.why_not(in_memory) == ""
    with drawing():
        ours, theirs = (kind.of(study).blocks for study in (on_disk, in_memory))
    assert [type(block) for block in ours] == [type(block) for block in theirs]


def test_the_tidy_tables_have_the_same_values(on_disk: Study, in_memory: Comparison) -> None:
    ours, theirs = (tidy([of]).to_pandas() for of in (on_disk, in_memory))
    shared = ["policy", "seed", "round", "last", "metric", "value"]
    assert ours[shared].equals(theirs[shared])


def test_means_and_changes_are_those_that_the_comparison_says(in_memory: Comparison) -> None:
    (environment,) = in_memory.matched
    for row in in_memory.table():
        for metric in HEADLINE:
            own, other = environment.paired(row["policy"], metric)
            assert own.mean() == pytest.approx(row[metric])
            assert 100 * (own.mean() / other.mean() - 1) == pytest.approx(row[f"{metric}_change"])
