"""faircascade reproduce: one command, results that stay, a page of what there is."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.cli.processes import interrupted

SPEC = """
name = "mine"
title = "A question of my own"
show = ["published", "equality", "table"]

[data]
name = "synthetic"
users = 30
items = 80

[environment]
dim = 10
k = 5

[run]
rounds = 40
seeds = 2
checkpoints = 8

[every_policy]
reading = "reference"

[[policies]]
name = "linucb"

[[policies]]
name = "ealinucb"
weight.grid = ["log", "linear"]
"""


@pytest.fixture
def run(run):
    """Run the command in a folder with mine.toml; return (exit code, stdout, stderr)."""
    Path("mine.toml").write_text(SPEC)
    return partial(run, "reproduce")


def cells(folder: str) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in Path(folder).glob("cells/*/cell.json")}


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_spec_file_becomes_a_page_with_its_tables_beside_it(run) -> None:
    code, out, err = run("mine.toml", "--json", "--out", "here")
    assert code == 0, err
    document = json.loads(out)
    assert document["page"] == "here/reproduction.html"
    assert document["missing"] == 0
    assert document["verdicts"]["cannot be compared"] == 3 * 5  # the data is synthetic
    page = Path("here/reproduction.html").read_text()
    assert "A question of my own" in page
    assert "synthetic" in Path("here/reproduction.md").read_text().lower()
    assert len(rows("here/comparison.csv")) == 15
    assert {row["policy"] for row in rows("here/results.csv")} == {
        "LinUCB",
        "EALinUCB log",
        "EALinUCB linear",
    }


def test_a_second_run_computes_nothing_and_writes_the_same_page(run) -> None:
    assert run("mine.toml", "--out", "here")[0] == 0
    before, page = cells("here"), Path("here/reproduction.md").read_bytes()
    code, _, err = run("mine.toml", "--out", "here")
    assert code == 0
    assert "6 cells, 6 of them already finished" in err
    assert cells("here") == before
    assert Path("here/reproduction.md").read_bytes() == page


def test_more_seeds_and_another_alpha_add_to_what_is_there(run) -> None:
    run("mine.toml", "--out", "here", "--seeds", "1")
    first = cells("here")
    assert len(first) == 3
    text = Path("mine.toml").read_text()
    Path("mine.toml").write_text(
        text.replace('name = "linucb"', 'name = "linucb"\nalpha.grid = [0.25, 2.0]')
    )
    code, _, err = run("mine.toml", "--out", "here", "--seeds", "2")
    assert code == 0, err
    after = cells("here")
    assert len(after) == 8
    assert all(after[path] == when for path, when in first.items())
    assert "alpha=2.0" in Path("here/reproduction.md").read_text()


def test_a_page_can_be_had_of_what_is_finished_without_running_more(run) -> None:
    run("mine.toml", "--out", "here", "--seeds", "1")
    before = cells("here")
    code, out, err = run("mine.toml", "--out", "here", "--seeds", "3", "--no-run", "--json")
    assert code == 0, err
    assert json.loads(out)["missing"] == 6
    assert cells("here") == before
    assert "3 of 9" in Path("here/reproduction.md").read_text()


def test_figure_1_needs_no_data(run) -> None:
    code, _, err = run("fig1", "--out", "here")
    assert code == 0, err
    assert list(Path("here/figures").glob("*.png"))
    assert not Path("here/cells").exists()


def test_a_licensed_folder_of_yahoo_music_is_read_where_it_lies(run) -> None:
    rng = np.random.default_rng(0)
    folder = Path("r2")
    folder.mkdir()
    for part in range(2):  # the real one has ten of each
        rated = [
            f"{user}\t{song}\t{rng.integers(1, 6)}"
            for user in range(30 * part, 30 * part + 30)
            for song in range(60)
        ]
        (folder / f"train_{part}.txt").write_text("\n".join(rated) + "\n")
    code, out, err = run(
        "rq2", "--data", "yahoo-r2", "--path", "r2", "--rounds", "5", "--seeds", "1", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["missing"] == 0
    assert "yahoo-r2" in Path("runs/reproduce/yahoo-r2/reproduction.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rq22"], "did you mean 'rq2'"),
        (["no.toml"], "no.toml: no such spec file"),
        (["mine.toml", "--reading", "literal"], "reading must be one of"),
        (["mine.toml", "--seeds", "0"], "--seeds must be at least 1"),
        (["mine.toml", "--rounds", "0"], "rounds must be at least 1"),
        (["mine.toml", "--data", "ml-1mm"], "Error: 'ml-1mm' is neither a data set"),
        (["mine.toml", "--path", "nowhere"], "no file or folder 'nowhere'"),
        (["mine.toml", "--out", "mine.toml"], "this is a file"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_run(run, arguments, message) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not list(Path().glob("runs/**/cell.json"))


def test_an_environment_that_cannot_be_is_told_with_its_line_before_anything_runs(run) -> None:
    Path("mine.toml").write_text(SPEC.replace("k = 5", "k.grid = [5, 500]"))
    code, _, err = run("mine.toml", "--out", "here", "--seeds", "1")
    assert code == 2
    assert "mine.toml:13: k must be at most" in err
    assert not cells("here")


def test_an_exhibit_that_does_not_exist_is_refused_before_anything_runs(run) -> None:
    Path("mine.toml").write_text(SPEC.replace('"equality"', '"equalty"'))
    code, _, err = run("mine.toml", "--out", "here")
    assert code == 2
    assert "did you mean 'equality'" in err
    assert not Path("here").exists()


@pytest.mark.slow
def test_ctrl_c_leaves_a_page_and_the_same_command_goes_on(tmp_path: Path) -> None:
    long = SPEC.replace("rounds = 40", "rounds = 400").replace("seeds = 2", "seeds = 30")
    (tmp_path / "mine.toml").write_text(long)
    command = "reproduce mine.toml --out here --json"
    code, out, err = interrupted(command, when="Running", folder=tmp_path)
    assert code == 130, err
    assert "Run the same command" in err
    left = json.loads(out)["missing"]
    assert left > 0
    assert (tmp_path / "here/reproduction.html").is_file()
    assert len(list((tmp_path / "here").glob("cells/*/cell.json"))) == 90 - left


TUNED = """
[[policies]]
name = "linucb"
reranker = "fairco"

[tune]
policy = "all"
fairest_within = "20%"
trials = 2
seeds = 1
"""


def test_a_spec_that_asks_for_it_is_tuned_before_it_becomes_a_page(run) -> None:
    Path("mine.toml").write_text(SPEC + TUNED)
    code, _, err = run("mine.toml", "--out", "here")
    assert code == 0, err
    assert "Tuned 3 policies: here/mine-tuned.toml" in err
    before = cells("here")
    code, out, err = run("mine.toml", "--out", "here", "--no-run", "--json")
    assert code == 0, err
    assert json.loads(out)["missing"] == 0
    assert cells("here") == before


@pytest.mark.slow
def test_the_study_of_fair_rankers_tunes_them_and_makes_a_page(run) -> None:
    pytest.importorskip("optuna")
    asked = ("fair-rankers-popular-pbm", "--quick", "--rounds", "4", "--out", "here")
    code, _, err = run(*asked)
    assert code == 0, err
    assert "Tuned 20 policies: here/fair-rankers-popular-pbm-tuned.toml" in err
    page = Path("here/reproduction.md").read_text()
    assert "Fair rankers at equal cost" in page
    assert "Worst-off tenth" in page
