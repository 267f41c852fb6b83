"""A page, of whatever it is: whole in itself, well formed, escaped, and the same bytes twice."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from faircascade.data.load import load_dataset
from faircascade.engine import HEADLINE
from faircascade.environment import Environment
from faircascade.environment.worlds import world_words
from faircascade.experiment import Comparison, compare
from faircascade.experiment.study_results import StudyResults
from faircascade.policies import LinUCB, Random
from faircascade.report import SECTIONS, write_report
from faircascade.report.page_writer import PageHeader
from faircascade.report.summary import overview, unfinished
from tests.report.conftest import SCRIPT_GROUP, environment
from tests.report.html_page import read

PAGES = ["several_page", "hostile_page", "study_page"]


@pytest.fixture(params=PAGES)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def test_a_page_needs_nothing_beside_it(path: Path) -> None:
    page, source = read(path), path.read_text(encoding="utf-8")
    source = source.replace("http://evil.test", "")  # the name of a group
    assert not re.search(r"https?://|@import|url\(", source)
    assert all(src.startswith("data:image/png;base64,") for src in page.attributes("src"))
    assert all(href.startswith("#") for href in page.attributes("href"))
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object"}


def test_links_lead_somewhere_and_headings_skip_no_level(path: Path) -> None:
    page, ids = read(path), read(path).attributes("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.attributes("href")} <= set(ids)
    assert set(page.attributes("aria-labelledby")) <= set(ids)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_page_says_its_language_fits_a_phone_and_describes_pictures(path: Path) -> None:
    page = read(path)
    assert ("html", {"lang": "en"}) in page.tags
    assert any(attrs.get("name") == "viewport" for _, attrs in page.tags)
    pictures = [attrs for tag, attrs in page.tags if tag == "img"]
    files = list((path.parent / "figures").glob("*.png"))
    assert len(pictures) == len(files) > 3
    assert all(len(attrs["alt"] or "") > 40 for attrs in pictures)
    assert sum(tag == "figcaption" for tag, _ in page.tags) == len(files)


def test_text_keeps_to_the_words_of_the_glossary(path: Path) -> None:
    text = re.sub(r"\b(listed|listing|world (popular|paper))\b", "", read(path).text)
    assert not re.search(r"`|\bNone\b|\bnan\b|\blists?\b|\bworlds?\b", text)


def test_markup_in_names_stays_text(hostile_page: Path, hostile: Comparison) -> None:
    page = read(hostile_page)
    assert "script" not in {tag for tag, _ in page.tags}
    for given in (*hostile.labels[:2], SCRIPT_GROUP, "夜"):
        assert given in page.text
    assert page.text.count(hostile.labels[0]) > 3
    markdown = hostile_page.with_suffix(".md").read_text(encoding="utf-8")
    assert "<script>" not in markdown


def test_marks_are_explained_once_wherever_they_stand(path: Path) -> None:
    page = read(path)
    terms = page.text[page.text.index("Marks") :]
    for mark in ("★", "†"):
        assert terms.count(f"{mark}\n") == 1 or re.search(rf"{mark}\s*[A-Z]", terms)


def test_the_best_of_each_column_is_marked(several_page: Path, several: Comparison) -> None:
    rows = [row for row in read(several_page).rows if row[0].startswith(several.labels)]
    for row in rows[: len(several.labels)]:
        label = next(label for label in several.labels if row[0].startswith(label))
        marked = ["★" in cell for cell in row[1:]]
        assert marked == [label in several.environments[0].best(metric) for metric in HEADLINE]


def test_a_change_that_cannot_be_had_is_a_dash(hostile_page: Path, hostile: Comparison) -> None:
    assert hostile.mean(hostile.baseline, "clicks") == 0
    row = next(row for row in read(hostile_page).rows if row[0].startswith(hostile.labels[1]))
    assert row[1].endswith("–")


def test_an_interrupted_comparison_says_how_far_it_came(
    interrupted: Comparison, several: Comparison
) -> None:
    (notice,) = unfinished([interrupted])
    assert "MostPopular finished 10 to 30 rounds" in notice.text
    assert unfinished([several]) == []


def test_a_result_is_reported_like_a_comparison_of_one_policy(
    single: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (result,) = single.results["Random"]
    assert write_report(result) == Path("runs/report/report.html")
    page = write_report(single, tmp_path / "other")
    assert Path("runs/report/report.md").read_text() == page.with_suffix(".md").read_text()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[StudyResults]:
    """What pages are of, which have one line each here."""
    found: list[StudyResults] = []

    def write(cover: PageHeader, studies: list[StudyResults], folder: Path, *, test: str) -> Path:
        found.extend(studies)
        (folder / f"{cover.name}.html").write_text(cover.title)
        return folder / f"{cover.name}.html"

    monkeypatch.setattr("faircascade.report.page_writer.write_under", write)
    monkeypatch.chdir(tmp_path)
    return found


def test_pages_without_a_folder_lie_side_by_side(
    several: Comparison, written: list[StudyResults], capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [write_report(several) for _ in range(3)]
    assert [page.parent.name for page in pages] == ["report", "report-2", "report-3"]
    assert capsys.readouterr().err.splitlines() == [f"Report: {page}" for page in pages]
    assert write_report(several, "runs/report") == pages[0], "a folder that is named is taken"
    assert capsys.readouterr().err == ""


def test_a_page_is_over_the_items_that_are_asked_for(
    several: Comparison, written: list[StudyResults]
) -> None:
    eligible = several.measured("eligible")
    write_report(several, "here")
    write_report([several, eligible], "here", over="eligible")
    write_report(eligible, "here")
    write_report(eligible, "here", over="catalogue")
    assert [study.over for study in written] == ["catalogue", *["eligible"] * 3, "catalogue"]
    with pytest.raises(ValueError, match="did you mean 'eligible'"):
        write_report(several, "here", over="eligable")  # type: ignore[arg-type]


def test_the_subtitle_names_the_world_that_all_runs_share() -> None:
    synthetic = load_dataset("synthetic", users=60, items=120)

    def subtitle(*worlds: dict[str, Any]) -> str:
        made = [Environment.from_ratings(synthetic, **world) for world in worlds]
        return overview([compare(env, [Random()], rounds=1) for env in made])[0].partition(":")[0]

    assert subtitle({}) == "synthetic, world popular, click rate 0.4"
    assert subtitle({"world": "paper"}) == "synthetic, world paper"
    changed = {"popularity_power": 0.5, "click_rate": 0.2}
    assert subtitle(changed) == "synthetic, world popular (changed), click rate 0.2"
    assert subtitle({}, {"world": "paper"}) == "synthetic"
    assert world_words({"data": "arrays"}) == ""
    pbm = {"click_model": "pbm"}
    calibrated = "synthetic, world popular, click rate 0.4 under a cascade"
    assert subtitle(pbm) == f"{calibrated}, click model pbm"
    assert subtitle({}, pbm) == calibrated, "the click models differ"


def test_a_page_says_where_regret_is_not_against_the_best_slates(tmp_path: Path) -> None:
    def text(model: str) -> str:
        env = replace(environment(), click_model=model)
        page = write_report(compare(env, [LinUCB()], rounds=2), tmp_path / model)
        return " ".join(read(page).text.split())

    known, unknown = text("cascade"), text("ubm")
    words = "Click model ubm does not know the best slates. Regret is against good ones"
    assert words in unknown
    assert "it can be negative" in unknown
    assert "no optimal slates to compare with, and random slates have no regret" in unknown
    assert "negative" not in known
    assert "Optimal slates are the best" in known
    assert "Optimal slates are the best" not in unknown
    assert "good ones, where the best are not known" in unknown, "what regret means"


def test_a_default_without_a_number_is_not_printed(tmp_path: Path) -> None:
    env = replace(environment(), click_model="ubm")
    text = read(write_report(compare(env, [LinUCB()], rounds=2), tmp_path)).text
    assert "Click modelubm\n" in text
    assert "kappa" not in text


def test_what_cannot_be_drawn_is_left_out_and_named(single: Comparison, tmp_path: Path) -> None:
    single.env.items.groups.clear()
    page = read(write_report(single, tmp_path))
    left_out = page.text[page.text.index("Left out:") :].split("\n")[0]
    for name in ("pareto", "items", "groups", "exploration", "statistics"):
        assert SECTIONS[name].title in left_out
        assert f"#comparison-{name}" not in page.attributes("href")
    assert "★" not in page.text[: page.text.index("How to read this page", 400)]


def test_the_setup_names_what_was_run(several_page: Path, single: Comparison, tmp_path) -> None:
    text = read(several_page).text
    for given in ("alpha = 0.25", "weight = log", "Fingerprint", "1, 2", "A first look."):
        assert given in text
    single.env.info.update(items_with_zero_row=8, notes=["17 rows left out"], align="sign")
    page = read(write_report(single, tmp_path, title="Mine")).text.replace("\n", "")
    assert "items with zero row8" in page
    assert page.count("17 rows left out") == 1
    assert "alignsign" in page
    assert page.startswith("Mine")


@pytest.mark.slow
def test_writing_again_gives_the_same_bytes(
    several: Comparison, several_page: Path, tmp_path: Path
) -> None:
    write_report(several, tmp_path, notes=["A first look."])
    first = {p.relative_to(several_page.parent): p for p in several_page.parent.rglob("*.*")}
    second = {p.relative_to(tmp_path): p for p in tmp_path.rglob("*.*")}
    assert first.keys() == second.keys()
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes(), name


def test_a_smaller_report_leaves_no_figure_of_a_larger_one(
    several_page: Path, single: Comparison, tmp_path: Path
) -> None:
    shutil.copytree(several_page.parent, tmp_path, dirs_exist_ok=True)
    figures = tmp_path / "figures"
    (figures / "mine.png").write_text("mine")
    assert (figures / "comparison-items.png").exists()
    write_report(single, tmp_path)
    names = {path.name for path in figures.iterdir()}
    assert "mine.png" in names
    assert not {name for name in names if "items" in name or "pareto" in name}


@pytest.mark.usefixtures("several_page")
def test_drawing_leaves_no_trace_in_matplotlib() -> None:
    assert mpl.rcParams["svg.hashsalt"] is None
    assert mpl.rcParams["text.parse_math"] is True
    assert "matplotlib.pyplot" not in sys.modules
