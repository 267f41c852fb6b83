"""The page of any run: tables, fronts, curves and statistics that agree with the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats as scipy_stats

from faircascade.experiment.spec import Spec
from faircascade.experiment.stats import TESTS, Test, bootstrap_interval
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from faircascade.registry import components
from faircascade.report import write_report
from faircascade.report.changes import changes, tone_of
from faircascade.report.data_files import BY_ROUND
from faircascade.report.formatting import environment_name
from faircascade.report.numbers import number, p_value
from tests.experiment.specs import TINY
from tests.report.html_page import read
from tests.report.runs import study_of, table

NUMBER = re.compile(r"[−+]?\d[\d,]*(?:\.\d+)?(?=%|, |\])")
DIFFERENCE = ("difference", "difference_low", "difference_high")
RUN = """
name = "run"
title = "A run of my own"
about = "Two environments."
show = ["table", "pareto", "curves", "statistics"]
metrics = ["clicks", "regret", "equality_p", "coverage"]
baseline = "EALinUCB log"

[data]
name = "synthetic"
users = 40
items = 120

[environment]
dim = 4
k.grid = [3, 5]

[run]
rounds = 30
seeds = 4
checkpoints = 6

[[policies]]
name = "linucb"

[[policies]]
name = "ealinucb"
weight = "log"

[[policies]]
name = "random"
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_of(Spec.parse(RUN), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def written(ran: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    assert write_report([ran], folder, notes=["A note."]) == folder / "report.html"
    return folder


def of_seeds(study: Study, seeds: Sequence[int]) -> Study:
    """Return the study with fewer seeds."""
    spec = study.spec.changed(seeds=list(seeds))
    return Study(spec, tuple(spec.cells("tiny")), study.results)


def text_of(study: Study, folder: Path, **options) -> str:
    write_report([study], folder, **options)
    return (folder / "report.md").read_text(encoding="utf-8")


# The page


def test_a_run_has_a_page_figures_and_tables(written: Path) -> None:
    assert {path.name for path in written.iterdir()} == {
        *("report.html", "report.md", "figures"),
        *("results.csv", "curves.csv", "statistics.csv", "groups.csv"),
    }
    names = {path.stem for path in (written / "figures").iterdir()}
    assert {f"run-{name}-{place}" for name in ("pareto", "curves") for place in (1, 2)} <= names
    listed = re.findall(r"^- `([\w.]+)`:", (written / "report.md").read_text(), re.MULTILINE)
    assert set(listed) == {path.name for path in written.iterdir() if path.suffix != ".html"} - {
        "report.md"
    }


def test_a_study_alone_gives_the_page_its_title_once(written: Path) -> None:
    source = (written / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<h\d[^>]*>A run of my own<", source) == ["<h1>A run of my own<"]


def test_several_studies_have_a_chapter_each(ran: Study, tmp_path: Path) -> None:
    other = replace(ran, spec=replace(ran.spec, name="other", title="Another", show=("table",)))
    page = write_report([ran, other], tmp_path, name="both", title="Both")
    assert page == tmp_path / "both.html"
    text = (tmp_path / "both.md").read_text(encoding="utf-8")
    assert text.startswith("# Both\n")
    assert "\n## A run of my own\n" in text
    assert "\n## Another\n" in text
    assert {row["spec"] for row in table(tmp_path, "statistics.csv")} == {"run", "other"}
    assert {row["spec"] for row in table(tmp_path, "curves.csv")} == {"run"}
    assert "curves" in BY_ROUND


def test_what_the_metrics_mean_is_said_once_each(written: Path) -> None:
    text = (written / "report.md").read_text(encoding="utf-8")
    terms = text[text.index("## How to read this page") :]
    assert re.findall(r"^- \*\*(.+?)\.\*\*", terms, re.MULTILINE)[-4:] == [
        "Clicks", "Regret", "Equality (P)", "Coverage"
    ]  # fmt: skip
    assert "Lower is better." in terms


def test_published_numbers_bring_their_table_and_take_it_along(
    study: Study, ran: Study, tmp_path: Path
) -> None:
    spec = replace(study.spec, show=("published",))
    assert "SYNTHETIC DATA" in read(write_report([replace(study, spec=spec)], tmp_path)).text
    assert (tmp_path / "comparison.csv").is_file()
    (tmp_path / "mine.csv").write_text("mine")
    write_report([ran], tmp_path)
    assert not (tmp_path / "comparison.csv").exists()
    assert (tmp_path / "mine.csv").is_file()


# Statistics


def test_statistics_are_those_of_scipy(written: Path, ran: Study) -> None:
    rows = table(written, "statistics.csv")
    assert len(rows) == 2 * 3 * (4 + 2 * 4)  # environments, policies, metrics (over groups, too)
    assert {row["over"] for row in rows} == {"catalogue"}
    environment = ran.environments[0]
    (row,) = [
        row
        for row in rows
        if (row["environment"], row["policy"], row["metric"])
        == ("dim=4 k=3", "Random", "equality_p")
    ]
    own, other = (environment.values(label, "equality_p") for label in ("Random", "EALinUCB log"))
    tested = scipy_stats.ttest_rel(own, other)
    low, high = tested.confidence_interval(0.95)
    expected = {
        "mean": own.mean(),
        "bootstrap_low": bootstrap_interval(own).low,
        "difference": (own - other).mean(),
        "difference_low": low,
        "difference_high": high,
        "p": tested.pvalue,
        "cohen_dz": tested.statistic / 2,
        "percent": 100 * (own.mean() / other.mean() - 1),
    }
    assert {name: float(row[name]) for name in expected} == pytest.approx(expected)
    assert (row["baseline"], row["pairs"], row["test"]) == ("EALinUCB log", "4", "t")
    assert row["comparisons"] == str(2 * 2 * 4)
    assert float(row["holm_p"]) >= float(row["p"])
    assert [row[n] for n in ("wins", "ties", "losses")] == ["4", "0", "0"]


def test_a_lower_regret_is_a_win(written: Path, ran: Study) -> None:
    environment = ran.environments[1]
    own, other = (environment.values(label, "regret") for label in ("Random", "EALinUCB log"))
    (row,) = [
        row
        for row in table(written, "statistics.csv")
        if (row["environment"], row["policy"], row["metric"]) == ("dim=4 k=5", "Random", "regret")
    ]
    assert int(row["losses"]) == (own > other).sum() > 0


def test_the_baseline_has_means_and_no_change(written: Path) -> None:
    rows = [r for r in table(written, "statistics.csv") if r["policy"] == "EALinUCB log"]
    assert all(row["mean"] and not row["p"] and not row["wins"] for row in rows)


def test_the_page_shows_what_the_statistics_file_has(written: Path) -> None:
    page = read(written / "report.html")
    shown = [row for row in page.rows if len(row) == 10 and row[0] != "Policy"]
    rows = table(written, "statistics.csv")
    assert len(shown) == len(rows)
    for cells, row in zip(shown, rows, strict=True):
        assert cells[0].startswith(row["policy"])
        assert cells[1] == number(float(row["mean"]))
        if row["p"]:
            assert cells[6] == p_value(float(row["p"]))
            assert cells[7].startswith(p_value(float(row["holm_p"])))
            assert ("†" in cells[7]) == (float(row["holm_p"]) < 0.05)
            assert cells[9] == "–".join(row[name] for name in ("wins", "ties", "losses"))


def test_changes_stand_by_environment_with_their_intervals(ran: Study, tmp_path: Path) -> None:
    spec = replace(ran.spec, show=("changes", "statistics"))
    write_report([Study(spec, ran.cells, ran.results)], tmp_path)
    page, compared = read(tmp_path / "report.html"), ("LinUCB", "Random")
    shown = [row for row in page.rows if len(row) == 3 and row[0] in compared]
    assert [row[0] for row in shown] == [label for _ in spec.metrics for label in compared]
    rows = [row for row in table(tmp_path, "statistics.csv") if row["p"]]
    for place, (label, *cells) in enumerate(shown):
        metric = spec.metrics[place // len(compared)]
        mine = [row for row in rows if (row["policy"], row["metric"]) == (label, metric)]
        assert len(mine) == len(ran.environments)
        for cell, row in zip(cells, mine, strict=True):
            assert ("†" in cell) == (float(row["holm_p"]) < 0.05)
            first, *ends = (float(row[name]) for name in DIFFERENCE)
            one = float(row["percent"]) / first if first else 0.0
            wanted = [first * one, *(end * one for end in ends if first)]
            found = [float(n.replace("−", "-").replace(",", "")) for n in NUMBER.findall(cell)]
            assert found == pytest.approx(wanted, rel=0.01, abs=0.06)


def test_changes_say_what_is_not_there_yet(ran: Study, tmp_path: Path) -> None:
    spec = replace(ran.spec, show=("changes",))
    empty = Study(spec, ran.cells, Results(tmp_path / "none"))
    text = text_of(empty, tmp_path)
    assert text.count("not run yet") == len(spec.metrics) * 2 * 2
    assert "`figures`" not in text  # there are none
    alone = of_seeds(Study(spec, ran.cells, ran.results), [2])
    text_of(alone, tmp_path)
    rows = [row for row in read(tmp_path / "report.html").rows if row[0] == "Random"]
    assert all("[" not in cell for row in rows for cell in row)


def test_one_seed_says_that_nothing_can_be_tested(ran: Study, tmp_path: Path) -> None:
    text = text_of(of_seeds(ran, [2]), tmp_path)
    assert "With only one seed there are no intervals" in text
    assert "Left out: Statistics (there is one seed)." in text
    rows = table(tmp_path, "statistics.csv")
    assert {row["bootstrap_why_not"] for row in rows} == {"one seed"}
    assert {row["p"] for row in rows} == {row["low"] for row in rows} == {""}


@pytest.mark.parametrize("test", TESTS)
def test_colours_follow_the_test_that_was_chosen(ran: Study, test: Test) -> None:
    """With four seeds Wilcoxon's p is 0.125 at least, so that it never tells better from worse."""
    found = changes(ran.matched, ran.metrics, test)
    tones = {key: tone_of(change, key[2]) for key, change in found.items()}
    assert {key for key, tone in tones.items() if tone} == {
        key for key, change in found.items() if change.p < 0.05
    }
    assert any(tones.values()) == (test == "t")
    alone = changes(of_seeds(ran, [2]).matched, ran.metrics, test)
    assert any(tone_of(change, key[2]) for key, change in alone.items())  # the direction


def test_another_test_is_named_and_says_when_seeds_are_too_few(ran: Study, tmp_path: Path) -> None:
    text = text_of(ran, tmp_path, test="wilcoxon")
    assert TESTS["wilcoxon"] in text
    assert "With 4 seeds p cannot be below 0.125" in text
    assert "at least 10 seeds are needed" in text  # 16 x 2^-9 = 0.031
    tests = {row["test"] for row in table(tmp_path, "statistics.csv") if row["p"]}
    assert tests == {"wilcoxon"}
    with pytest.raises(ValueError, match="test must be one of"):
        write_report([ran], tmp_path / "new", test="sign")  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def test_tables_are_folded_where_they_are_long_or_many(ran: Study, tmp_path: Path) -> None:
    every = tuple(components("metric"))
    assert 3 * len(every) > 30 > 3 * len(ran.spec.metrics)
    spec = replace(ran.spec, metrics=every, show=("statistics",))
    text = text_of(replace(ran, spec=spec), tmp_path)
    assert f"<summary>d = 4, K = 3: 4 seeds ({3 * len(every)} rows)</summary>" in text
    assert text.count("<details>") == text.count("</details>") == 5  # two of them over groups
    short = replace(ran.spec, show=("statistics",))
    assert text_of(replace(ran, spec=short), tmp_path).count("<details>") == 5
    first = ran.cells[0].environment
    cells = tuple(cell for cell in ran.cells if cell.environment == first)
    one = replace(ran, spec=short, cells=cells)
    assert text_of(one, tmp_path).count("<details>") == 2  # what the columns mean, and groups


def test_one_policy_is_held_against_nobody(tmp_path: Path) -> None:
    lines = RUN.replace('baseline = "EALinUCB log"\n', "").split("[[policies]]")
    study = study_of(Spec.parse("[[policies]]".join(lines[:2])), tmp_path / "run")
    text = text_of(study, tmp_path)
    assert "With one policy there is nothing to compare." in text
    assert "Too few seeds" not in text


# Half finished


def test_half_a_run_shows_what_there_is(ran: Study, tmp_path: Path) -> None:
    some = [c for c in ran.cells if c.environment["k"] == 3 and c.seed < 3 and c.label != "Random"]
    half = study_of(ran.spec, tmp_path / "run", some)
    text = text_of(half, tmp_path)
    assert f"{len(ran.cells) - len(some)} of {len(ran.cells)} runs are not finished" in text
    assert "Not run yet: Random." in text
    assert "No policy is finished for d = 4, K = 5." in text
    rows = table(tmp_path, "statistics.csv")
    assert {r["seeds"] for r in rows if r["policy"] == "LinUCB" and "k=3" in r["environment"]} == {
        "2"
    }
    assert {r["mean"] for r in rows if r["policy"] == "Random"} == {""}


def test_nothing_finished_is_no_error(ran: Study, tmp_path: Path) -> None:
    empty = Study(ran.spec, ran.cells, Results(tmp_path / "none"))
    assert "No policy is finished" in text_of(empty, tmp_path)


# Several data sets


def test_environments_of_several_data_sets_are_told_apart(tmp_path: Path) -> None:
    text = RUN.replace("users = 40", "users.grid = [40, 30]").replace("k.grid = [3, 5]", "k = 3")
    spec = replace(Spec.parse(text), seeds=(1,))
    cells = tuple(spec.cells("tiny"))
    assert len({cell.environment_id for cell in cells}) == 2
    study = study_of(spec, tmp_path / "run")
    page = text_of(study, tmp_path)
    assert "synthetic (users = 30, items = 120), d = 4, K = 3" in page
    environments = {row["environment"] for row in table(tmp_path, "statistics.csv")}
    assert len(environments) == 2
    assert all("data.users=" in environment for environment in environments)


def test_environments_do_not_name_a_default_that_has_no_number(tmp_path: Path) -> None:
    models = 'click_model.grid = [{name = "pbm", kappa = 0.5}, "pbm"]'
    spec = Spec.parse(TINY.replace("k.grid = [3, 5]", f"k = 3\n{models}"))
    study = Study(spec, tuple(spec.cells("tiny")), Results(tmp_path))
    names = [environment_name(study, environment) for environment in study.environments]
    assert names == ["d = 4, K = 3, click_model.kappa = 0.5", "d = 4, K = 3"]
