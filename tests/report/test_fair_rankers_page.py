"""The page of the study of fair rankers: made of tables alone, honest about what is not there."""

from __future__ import annotations

import csv
import doctest
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from faircascade.experiment.running.executors import Local
from faircascade.experiment.running.planning import plan_studies
from faircascade.experiment.running.runner import run_studies
from faircascade.experiment.store.results import Results
from faircascade.experiment.tuning.every import tune_every, write_tuned
from faircascade.paper.specs import adapt, find_specs

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "reproduction" / "fair-rankers"
FEW = ("linucb", "random", "most-popular")


@pytest.fixture(scope="module")
def pages() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "fair_rankers.py"))


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies of a few rounds, and the tables that were made of them."""
    pytest.importorskip("optuna")
    folder, to = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("page")
    results = Results(folder)
    for name in ("fair-rankers-popular-cascade", "fair-rankers-popular-pbm"):
        (spec,) = find_specs([name])
        data = {"name": "synthetic", "users": 30, "items": 80}
        spec = adapt(spec, rounds=6, quick=True).changed(
            data=data, environment={"users": 15, "dim": 4, "k": 4}
        )
        (study,), sources = plan_studies([spec], results)
        tuned = tune_every(
            spec, study.cells[0].fingerprint, sources, results, executor=Local(workers=1)
        )
        write_tuned(tuned, folder)
        studies, sources = plan_studies([tuned.comparison], results)
        assert run_studies(studies, sources, results, executor=Local(workers=1)).complete
    script = runpy.run_path(str(ROOT / "benchmarks" / "fair_ranker_runs.py"))
    script["collect"]("generated", folder, to)
    return to


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_run_is_a_line_by_the_name_that_it_had_before_it_was_tuned(collected: Path) -> None:
    found = lines(collected / "results.csv")
    (spec,) = find_specs(["fair-rankers-popular-cascade"])
    assert {line["policy"] for line in found} == {label for label, _, _ in spec.lines()}
    assert {line["users"] for line in found} == {"cascade", "pbm"}
    assert len(found) == 2 * 2 * len(spec.lines())  # users, seeds
    assert all(0 <= float(line["worst_tenth"]) <= 1 for line in found)


def test_the_tuning_under_a_cascade_serves_both_kinds_of_users(collected: Path) -> None:
    found = lines(collected / "trials.csv")
    values = {
        users: [line["values"] for line in found if line["users"] == users]
        for users in ("cascade", "pbm")
    }
    assert values["cascade"] == values["pbm"]


def test_the_page_has_every_policy_and_says_how_much_of_the_study_is_there(
    collected: Path, pages: dict[str, Any]
) -> None:
    text = pages["page"](pages["Tables"](collected))
    assert "**2 of 16 environments so far.**" in text
    assert "times the equality for" in text
    for name in ("fairco", "p-mmf", "EALinUCB, all of it tuned", "FairXLinUCB", "Random"):
        assert f"| {name} |" in text
    assert (collected / "figures" / "popular-pbm.png").exists()
    assert pages["page"](pages["Tables"](collected)) == text


def test_no_results_are_no_page(tmp_path: Path, pages: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="no results"):
        pages["page"](pages["Tables"](tmp_path))


@pytest.mark.skipif(not (PUBLISHED / "results.csv").exists(), reason="the study was not run yet")
def test_the_published_page_comes_from_its_tables(pages: dict[str, Any]) -> None:
    text = pages["page"](pages["Tables"](PUBLISHED))
    assert (PUBLISHED / "fair-rankers.md").read_text("utf-8") == text, "python docs/fair_rankers.py"


def test_the_examples_in_the_script_are_right(pages: dict[str, Any]) -> None:
    module = ModuleType("fair_rankers")
    vars(module).update(pages)
    for function in ("short", "signed"):
        pages[function].__module__ = module.__name__
    sys.modules.pop(module.__name__, None)
    assert doctest.testmod(module).failed == 0
