"""The page: whole in itself, well formed, escaped, and true to the comparison."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import pytest

from faircascade.engine import HEADLINE
from faircascade.experiment import Comparison
from faircascade.report import write_report
from faircascade.report.figures import FIGURES
from faircascade.report.html import render

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Reads a page into tags, rows of text, and what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def attributes(self, name: str) -> list[str]:
        return [str(attrs[name]) for _, attrs in self.tags if name in attrs]


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_needs_nothing_beside_it(several_page: Path) -> None:
    page = read(several_page)
    source = several_page.read_text(encoding="utf-8").replace("http://evil.test", "")  # a group
    assert not re.search(r"https?://|@import|url\(", source)
    assert all(src.startswith("data:image/png;base64,") for src in page.attributes("src"))
    assert all(href.startswith("#") for href in page.attributes("href"))
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object"}


def test_links_within_the_page_lead_somewhere(several_page: Path) -> None:
    page = read(several_page)
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.attributes("href")} <= set(ids)
    assert set(page.attributes("aria-labelledby")) <= set(ids)


def test_the_page_says_its_language_fits_a_phone_and_describes_pictures(several_page: Path) -> None:
    page = read(several_page)
    assert ("html", {"lang": "en"}) in page.tags
    assert any(attrs.get("name") == "viewport" for _, attrs in page.tags)
    pictures = [attrs for tag, attrs in page.tags if tag == "img"]
    assert len(pictures) == len(FIGURES)
    assert all(len(attrs["alt"] or "") > 40 for attrs in pictures)
    assert sum(tag == "figcaption" for tag, _ in page.tags) == len(FIGURES)


def test_markup_in_names_stays_text(hostile_page: Path, hostile: Comparison) -> None:
    page = read(hostile_page)
    tags = {tag for tag, _ in page.tags}
    assert "script" not in tags
    assert sum(tag == "img" for tag, _ in page.tags) == len(FIGURES)
    for given in (*hostile.labels[:2], '<img src="http://evil.test/x.png">', "夜"):
        assert given in page.text
    assert page.text.count(hostile.labels[0]) > 3


def test_the_best_of_each_column_is_marked(several_page: Path, several: Comparison) -> None:
    page = read(several_page)
    table = [row for row in page.rows if row[0].startswith(several.labels)]
    for row in table[: len(several.labels)]:
        label = next(label for label in several.labels if row[0].startswith(label))
        marked = ["(best)" in cell for cell in row[1:]]
        assert marked == [label in several.best(metric) for metric in HEADLINE]


def test_a_change_that_cannot_be_had_is_a_dash(hostile_page: Path, hostile: Comparison) -> None:
    assert hostile.mean(hostile.baseline, "clicks") == 0
    row = next(row for row in read(hostile_page).rows if row[0] == hostile.labels[1])
    assert row[1].endswith("–")


def test_several_seeds_show_their_spread_and_one_does_not(
    several_page: Path, hostile_page: Path
) -> None:
    assert "±" in read(several_page).text
    assert "±" not in read(hostile_page).text


def test_an_interrupted_run_says_where_it_stopped(interrupted: Comparison) -> None:
    text = Page(render(interrupted, [])).text
    assert "finished at least 10 rounds" in text
    assert "MostPopular finished 10 to 30 rounds; the longest runs have 30" in text


def test_a_finished_run_has_no_notice(several_page: Path) -> None:
    assert "stopped" not in read(several_page).text


def test_groups_beyond_the_twelfth_are_counted_and_not_listed(several_page: Path) -> None:
    page = read(several_page)
    assert "By genre (16 groups)" in page.text
    assert "the 12 most exposed groups, of 16" in page.text
    heads = [i for i, row in enumerate(page.rows) if row[:2] == ["Group", "Items"]]
    assert heads[1] - heads[0] >= 12
    assert sum(1 for row in page.rows if len(row) == 7 and row[2].endswith("%")) == 12 + 1


def test_without_groups_there_is_no_such_section(single: Comparison) -> None:
    page = render(single, [])
    assert 'id="groups"' in page
    single.env.items.groups.clear()
    assert 'id="groups"' not in render(single, [])


def test_the_setup_names_what_was_run(several_page: Path) -> None:
    text = read(several_page).text
    for given in (
        "alpha = 0.25",
        "weight = log",
        "Fingerprint",
        "Random seeds",
        "1, 2",
        "A first look.",
    ):
        assert given in text


def test_what_the_environment_recorded_is_shown(single: Comparison) -> None:
    single.env.info.update(
        items_with_zero_row=8, items_with_floored_merit=3, notes=["17 rows left out"], align="sign"
    )
    text = Page(render(single, [], title="Mine")).text
    assert "Items without features8" in text.replace("\n", "")
    assert "raised to the floor3" in text.replace("\n", "")
    assert "17 rows left out" in text
    assert "align" in text
    assert "Mine" in text


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
    single: Comparison, tmp_path: Path
) -> None:
    figures = tmp_path / "figures"
    figures.mkdir()
    for name in ("items.png", "items.svg", "mine.png"):
        (figures / name).write_text("old")
    page = read(write_report(single, tmp_path))
    assert "★" not in page.text
    names = {path.name for path in figures.iterdir()}
    assert "mine.png" in names
    assert names - {"mine.png"} == {
        f"{n}.{f}" for n in FIGURES if n != "items" for f in ("png", "svg")
    }


@pytest.mark.usefixtures("several_page")
def test_drawing_leaves_no_trace_in_matplotlib() -> None:
    assert mpl.rcParams["svg.hashsalt"] is None
    assert mpl.rcParams["text.parse_math"] is True
    assert "matplotlib.pyplot" not in sys.modules
