"""The page of a reproduction: true to result files, whole or half finished."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from faircascade.paper.published import METRICS, published
from faircascade.report import SECTIONS, check_show, count_verdicts, write_reproduction
from faircascade.report.numbers import number
from faircascade.report.published.comparison import SYMBOLS, held
from faircascade.report.style import drawing
from tests.report.html_page import read
from tests.report.runs import (
    BASELINE,
    HOSTILE,
    NEW_ALPHA,
    NEW_WEIGHT,
    SHORT,
    SPEC,
    page_rows,
    table,
    values,
)


@pytest.fixture
def written(study_page: Path) -> Path:
    assert study_page.name == "reproduction.html"
    return study_page.parent


# The page


def test_a_reproduction_writes_a_page_figures_and_three_tables(written: Path) -> None:
    assert {path.name for path in written.iterdir()} == {
        *("reproduction.html", "reproduction.md", "figures"),
        *("results.csv", "curves.csv", "comparison.csv"),
    }


def test_markdown_refers_to_figures_that_are_there(written: Path) -> None:
    text = (written / "reproduction.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\((figures/[^)]+)\)", text))
    there = {f"figures/{path.name}" for path in (written / "figures").iterdir()}
    assert shown == there
    names = {Path(path).stem.removeprefix("tiny-").split("-")[0] for path in shown}
    assert names == {"rewards", "exploration", "equality", "items", "gammas", "bound"}
    assert all(path.stat().st_size < 400_000 for path in (written / "figures").iterdir())


def test_markdown_tables_have_as_many_cells_in_every_row(written: Path) -> None:
    lines = (written / "reproduction.md").read_text(encoding="utf-8").splitlines()
    blocks = "\n".join(lines).split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith("| ")]
    assert len(tables) >= 5
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert set(rows[1]) <= set("|-: ")


def test_what_was_run_is_said_below_the_results(written: Path, study: Study) -> None:
    text = (written / "reproduction.md").read_text(encoding="utf-8")
    top = text[: text.index("## ")]
    below = text[text.index("## Settings and versions") :]
    users, items = (study.environments[0].runs[BASELINE][0].about[n] for n in ("users", "items"))
    for given in (
        "SYNTHETIC DATA",
        "resemble MovieLens",
        f"{users} users, slates of 5, 15 to 40 rounds, 2 seeds",
        f"Fairness over all {items} items",
        "**Against the published numbers:**",
        "A note.",
    ):
        assert given in top
    for given in (
        f"{users} × {items}",
        "15 to 40",
        "**Seeds:** 1, 2",
        "**Reading of the paper:** paper",
        "**align:** sign",
        "exclude",
        "loop (a short run): 14 runs",
        "faircascade 0.1.0, Python",
        "14 of 14",
        "**Time of all runs:**",
    ):
        assert given in below
    assert "SYNTHETIC DATA" in read(written / "reproduction.html").text


def test_words_of_a_spec_stay_words(study: Study, tmp_path: Path) -> None:
    spec = Spec.of(
        {"name": "words", "title": HOSTILE, "about": HOSTILE, "show": ["rewards"]}
        | {"run": {"rounds": 0}, "policies": [{"name": "linucb"}]}
    )
    studies = [Study(spec, (), study.results)] * 2
    page = read(write_reproduction(studies, tmp_path, title=HOSTILE, notes=[HOSTILE]))
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.text.count(HOSTILE) >= 4
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "](http" not in text
    assert len(list((tmp_path / "figures").glob("*.png"))) == 2  # names are told apart


# Numbers


def test_every_mean_in_the_tables_is_one_of_the_csv_files(written: Path) -> None:
    by_policy: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in table(written, "results.csv"):
        by_policy[row["policy"], row["metric"]].append(float(row["value"]))
    known = {number(float(np.mean(found))) for found in by_policy.values()}
    text = (written / "reproduction.md").read_text(encoding="utf-8")
    shown = re.findall(r"\*\*([\d.,]+)(?: ★)?\*\*", text)
    assert len(shown) > 60
    assert set(shown) <= known


def test_results_are_the_final_values_of_every_cell_and_no_more(
    written: Path, study: Study
) -> None:
    rows = table(written, "results.csv")
    run = study.environments[0].runs[NEW_WEIGHT][1]
    assert values(rows, policy=NEW_WEIGHT, seed="2", metric="equity_p") == [run.value("equity_p")]
    assert len(rows) == len(study.cells) * len(run.about["metrics"])
    assert {row["environment"] for row in rows} == {"dim=10 k=5"}
    assert {(row["d"], row["k"], row["align"]) for row in rows} == {("10", "5", "sign")}
    for name in ("results.csv", "curves.csv", "comparison.csv"):
        assert not {"item", "user", "merit"} & set(table(written, name)[0])


def test_curves_end_where_results_do(written: Path, study: Study) -> None:
    rows = table(written, "curves.csv")
    last = [r for r in rows if r["policy"] == BASELINE and r["round"] == "40"]
    end = {row["metric"]: row for row in last}
    assert set(end) == {"interval_clicks", "exploration", *METRICS, "regret", "fairness_regret"}
    for metric in ("clicks", "regret", "equality_b"):
        own = study.environments[0].values(BASELINE, metric)
        row = end[metric]
        shown = [float(row[n]) for n in ("low", "mean", "high")]
        assert shown == pytest.approx([own.min(), own.mean(), own.max()], rel=1e-4)
        assert row["seeds"] == "2"


def test_verdicts_add_up_to_the_published_numbers_that_have_a_policy(
    written: Path, study: Study
) -> None:
    rows = table(written, "comparison.csv")
    assert [row["method"] for row in rows[::5]] == ["LinUCB", "FRMLinUCB", "EALinUCB"]
    assert len(rows) == 3 * len(METRICS)
    counted = count_verdicts([study])
    assert list(counted) == list(SYMBOLS)
    assert sum(counted.values()) == len(rows)
    assert counted["cannot be compared"] == len(rows)
    assert all("synthetic" in row["reason"] for row in rows)
    row = next(r for r in rows if r["method"] == "EALinUCB" and r["metric"] == "clicks")
    theirs, ours = float(row["published"]), float(row["ours"])
    mine = study.environments[0].values("EALinUCB log (gamma=0.0)", "clicks")
    assert ours == pytest.approx(mine.mean())
    assert float(row["percent"]) == pytest.approx(100 * (ours - theirs) / theirs)


def test_policies_that_the_paper_does_not_have_are_not_published(written: Path) -> None:
    page = read(written / "reproduction.html")
    for label in (NEW_WEIGHT, NEW_ALPHA, "EALinUCB log (gamma=0.5)"):
        assert any("not published" in row[1] for row in page_rows(page, label))
    assert not any("not published" in row[1] for row in page_rows(page, BASELINE))


def test_a_shorter_run_is_held_against_the_baseline_as_it_stood(
    written: Path, study: Study
) -> None:
    environment = study.environments[0]
    before = np.mean(environment.values(BASELINE, "clicks", 15))
    change = 100 * (np.mean(environment.values(SHORT, "clicks")) / before - 1)
    (row,) = page_rows(read(written / "reproduction.html"), SHORT, 7)
    assert "15 rounds" in row[0]
    assert f"change {change:+.1f}%".replace("-", "−") in row[1]
    before = np.mean(
        environment.values(BASELINE, "fairness_regret", 15)
    )  # looked at in the same rounds
    change = 100 * (np.mean(environment.values(SHORT, "fairness_regret")) / before - 1)
    assert f"change {change:+.1f}%".replace("-", "−") in row[-1]


def test_two_seeds_have_intervals_and_a_named_test(written: Path) -> None:
    text = (written / "reproduction.md").read_text(encoding="utf-8")
    assert "paired t-test over seeds, two-sided, Holm-corrected for the" in text
    assert re.search(r"\*\*[\d.]+(?: ★)?\*\*<br>\[[\d.−]+, [\d.]+\]", text)


def test_rewards_are_those_that_the_policies_learn_from(written: Path) -> None:
    page = read(written / "reproduction.html")
    flat, *_ = page_rows(page, BASELINE, 5)
    assert flat[1:] == ["1.0000"] * 5
    log, *_ = page_rows(page, "EALinUCB log (gamma=0.0)", 5)
    assert log[1:] == [number(float(np.log(1 + k))) for k in range(1, 6)]


def test_the_theorem_is_about_few_of_them(written: Path) -> None:
    page = read(written / "reproduction.html")
    verdicts = {row[0].split("n =")[0]: row[-1] for row in page.rows if len(row) == 9}
    assert verdicts[NEW_ALPHA] == "✓ met"
    assert "alpha >= alpha_min" in verdicts[BASELINE + "baseline"]
    assert "must not re-rank" in verdicts[SHORT]


# Half finished


@pytest.mark.slow
def test_what_is_missing_is_said_to_be(half: Study, tmp_path: Path) -> None:
    page = read(write_reproduction([half], tmp_path))
    assert "Not complete. 8 of 14 runs are not finished (8 of tiny)." in page.text
    for label in (NEW_WEIGHT, NEW_ALPHA):
        rows = page_rows(page, label)
        assert sum("not run yet" in row[1] for row in rows) >= 2
    assert f"Not run yet: {NEW_WEIGHT}, {NEW_ALPHA}." in page.text
    seeds = {
        row[0] for row in page.rows if row[0].startswith((BASELINE, "EALinUCB log (gamma=0.0"))
    }
    assert {f"{BASELINE}baselinen = 2", "EALinUCB log (gamma=0.0)n = 1"} <= seeds
    assert "there are no intervals" in page.text
    kinds = {row["verdict"] for row in table(tmp_path, "comparison.csv")}
    assert kinds == {"cannot be compared"}
    assert {row["seeds"] for row in table(tmp_path, "curves.csv")} == {"1", "2"}


def test_one_seed_has_no_interval_and_says_so(study: Study, tmp_path: Path) -> None:
    spec = replace(study.spec.changed(seeds=[2]), show=("published", "equality", "table"))
    one = Study(spec, tuple(spec.cells("tiny")), study.results)
    assert one.missing == 0
    write_reproduction([one], tmp_path)
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "With only one seed there are no intervals" in text
    assert "so there are no bands." in text
    assert not re.search(r"\*\*[\d.]+(?: ★)?\*\*<br>\[", text)
    assert {row["low"] for row in table(tmp_path, "comparison.csv")} == {""}


@pytest.mark.parametrize("section", SECTIONS)
def test_nothing_finished_is_no_error(section: str, study: Study, tmp_path: Path) -> None:
    empty = Study(replace(study.spec, show=(section,)), study.cells, Results(tmp_path))
    page = read(write_reproduction([empty], tmp_path))
    assert "not run yet" in page.text.lower() or section == "rewards"
    assert table(tmp_path, "results.csv") == []
    expected = 15 if section == "published" else 0
    assert count_verdicts([empty]).get("not run yet", 0) == expected


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_does_without_the_baseline(
    section: str, half: Study, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("without")
    for cell in half.cells:
        found = half.results.find(cell)
        if found is not None and cell.label != BASELINE:
            shutil.copytree(found.folder, folder / "cells" / cell.key)
    without = Study(half.spec, half.cells, Results(folder))
    assert BASELINE not in without.environments[0].finished
    with drawing():
        assert SECTIONS[section].of(without).blocks


@pytest.mark.parametrize("section", SECTIONS)
def test_a_spec_that_simulates_nothing_is_no_error(
    section: str, study: Study, tmp_path: Path
) -> None:
    spec = Spec.of(
        {"name": "none", "show": [section], "run": {"rounds": 0}}
        | {"policies": [{"name": "random"}, {"name": "linucb"}]}
    )
    page = read(write_reproduction([Study(spec, (), study.results)], tmp_path))
    assert "nothing is simulated" in page.text


# Other data


def test_published_numbers_on_the_papers_data_match_themselves(
    study: Study, tmp_path: Path
) -> None:
    """Forged: runs of 50,000 rounds that came to what was published."""
    theirs = {"world": "paper", "align": "none", "zero_rows": "keep", "users": 1000}
    spec = study.spec.changed(data={"name": "ml-1m"}, rounds=50_000, environment=theirs)
    forged = Study(spec, tuple(spec.cells("tiny")), study.results)
    (environment,) = forged.environments
    row = next(row for row in published() if (row.dim, row.k, row.method) == (10, 5, "LinUCB"))

    class Run:
        seed, rounds = 1, 50_000

        def value(self, metric: str, rounds: int | None = None) -> float:
            return published()[row][metric]

    environment.runs[BASELINE] = (Run(),)  # type: ignore[assignment]
    found = {n.metric: n.outcome for n in held(forged) if n.label == BASELINE}
    assert found == dict.fromkeys(
        ("clicks", "equality_b", "equality_p"), "matches"
    ) | dict.fromkeys(("equity_b", "equity_p"), "cannot be compared")
    assert count_verdicts([forged])["not run yet"] == 10


@pytest.mark.slow
def test_data_of_ones_own_is_not_called_synthetic(study: Study, tmp_path: Path) -> None:
    spec = replace(study.spec, data={"name": "mine.csv"})
    own = Study(spec, tuple(spec.cells("tiny")), study.results)
    text = read(write_reproduction([own], tmp_path)).text
    assert "NOT THE PAPER'S DATA" in text
    assert "SYNTHETIC" not in text
    assert "Nothing was published" in text
    assert table(tmp_path, "comparison.csv") == []


# Files


def test_an_unknown_exhibit_is_refused_before_anything_is_written(
    study: Study, tmp_path: Path
) -> None:
    spec = Spec.parse(SPEC.replace('"gammas"', '"gamas"'), where="mine.toml")
    with pytest.raises(
        ValueError, match=r"mine.toml:5: show must be one of .*.*did you mean 'gammas'"
    ):
        check_show(spec)
    with pytest.raises(ValueError, match="gamas"):
        write_reproduction([Study(spec, study.cells, study.results)], tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_writing_again_gives_the_same_bytes_and_leaves_no_old_figure(
    written: Path, study: Study, tmp_path: Path
) -> None:
    def write(*show: str) -> dict[str, bytes]:
        write_reproduction([replace(study, spec=replace(study.spec, show=show))], tmp_path)
        return {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*.*")}

    first = write("published", "items", "table")
    for name in (
        "results.csv",
        "comparison.csv",
        "figures/tiny-items.png",
        "figures/tiny-items.svg",
    ):
        assert first[name] == (written / name).read_bytes()
    (tmp_path / "figures" / "mine.png").write_bytes(b"mine")
    fewer = write("published", "table")
    assert [name for name in fewer if name.startswith("figures")] == ["figures/mine.png"]
    assert write("published", "table") == fewer
