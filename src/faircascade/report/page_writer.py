"""The page of a comparison or of studies: HTML, Markdown, figures and tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faircascade.engine import Result
from faircascade.errors import ParameterError
from faircascade.experiment.comparison import Comparison
from faircascade.experiment.stats import Test, check_test
from faircascade.experiment.study_results import StudyResults
from faircascade.metrics import Over
from faircascade.parameters import checked_arguments
from faircascade.report.blocks import Notice, Section
from faircascade.report.changes import mark_terms
from faircascade.report.data_files import CURVES, GROUPS, RESULTS, DataFile, statistics_file
from faircascade.report.formatting import metric_terms
from faircascade.report.pages import (
    CaptionedFigure,
    FigureImage,
    remove_figure,
    template,
    write_figure,
    write_page,
)
from faircascade.report.published.comparison import shown
from faircascade.report.published.data_files import COMPARISON
from faircascade.report.published.summary import not_the_papers_data, published_facts
from faircascade.report.sections import SECTIONS, check_names
from faircascade.report.style import drawing
from faircascade.report.summary import facts, inexact, overview, study_line, unfinished
from faircascade.storage import check_folder, free_folder

_FIGURES = ("figures", "Every figure as PNG and SVG.")
READING = (
    "In every round each user is served a slate: K items in order. Users click what attracts them, "
    "and a policy learns from the clicks what to show next. Being shown is the exposure of an "
    "item. The page is about how well users are served, and how evenly exposure is shared."
)
"""How to read a page."""


@dataclass(frozen=True, kw_only=True)
class PageHeader:
    """What a page says and writes around its studies."""

    name: str
    """Of its files."""
    title: str
    notes: Sequence[str] = ()
    notices: Sequence[Notice] = ()
    """What a reader must know before any number."""
    tables: Sequence[DataFile]
    alone: bool = False
    """True if the page's title is that of its only study."""


@dataclass(frozen=True, eq=False)
class Chapter:
    """A study as the page has it."""

    place: str
    """Its name in addresses and files."""
    title: str
    about: str
    line: str
    sections: Sequence[Section]
    absent: str
    """Which sections cannot be drawn, and why."""


@checked_arguments
def write_report(
    results: Result | StudyResults | Sequence[StudyResults],
    folder: str | Path | None = None,
    *,
    name: str = "report",
    title: str | None = None,
    notes: Iterable[str] = (),
    test: Test = "t",
    over: Over | None = None,
) -> Path:
    """Write `NAME.html`, `NAME.md`, `figures/` and tables (CSV) of a result, comparison or studies.

    Each is shown as it asks (`show`), as far as it is finished. The page needs nothing beside it.
    An older page in `folder` is replaced, and what it had and this one has not is removed. Without
    a folder, `runs/report` is taken, or `runs/report-2` and so on if there is something in it, and
    which is printed. `over` says which items fairness is taken over, "catalogue" or "eligible",
    unless results are measured already. Returns the page's path.
    """
    studies = _studies(results)
    if over is not None:
        studies = [study.measured(over) for study in studies]
    chosen = check_folder(free_folder("report") if folder is None else folder)
    published = any(map(shown, studies))
    cover = PageHeader(
        name=name,
        title=title or ", ".join(dict.fromkeys(study.title for study in studies)),
        notes=list(notes),
        notices=not_the_papers_data(studies) if published else [],
        tables=[
            *(RESULTS, CURVES, statistics_file(test)),
            *([GROUPS] if any(e.group_columns for s in studies for e in s.environments) else []),
            *([COMPARISON] if published else []),
        ],
        alone=len(studies) == 1,
    )
    page = write_under(cover, studies, chosen, test=test)
    if folder is None:
        print(f"Report: {page}", file=sys.stderr)
    return page


def _studies(results: Any) -> list[StudyResults]:
    """Return what a page is to show: one or several; a single result is a comparison of one."""
    one = isinstance(results, str) or not isinstance(results, Sequence)
    several = [results] if one else results
    studies = [Comparison.of(r) if isinstance(r, Result) else r for r in several]
    for study in studies:
        if not isinstance(study, StudyResults):
            rule = "must be what simulate or compare returned, or studies"
            raise ParameterError("results", rule, study)
    if not studies:
        raise ParameterError("results", "must be at least one", results)
    return studies


def write_under(
    cover: PageHeader, studies: Sequence[StudyResults], folder: str | Path, *, test: Test = "t"
) -> Path:
    """Write studies under a cover; return the page's path."""
    check_test(test)
    for study in studies:
        check_names(study.show)
    folder = Path(folder)
    page, text = folder / f"{cover.name}.html", folder / f"{cover.name}.md"
    figures_before, tables_before = _figures_of(text), _tables_of(text)
    with drawing():
        chapters = list(_chapters(studies, folder / "figures", test))
    sections = [section for chapter in chapters for section in chapter.sections]
    drawn = any(isinstance(block, FigureImage) for section in sections for block in section.blocks)
    values: dict[str, Any] = {
        "cover": cover,
        "notices": [*cover.notices, *inexact(studies), *unfinished(studies)],
        "overview": overview(studies),
        "verdicts": [(term, words) for term, words in published_facts(studies) if words],
        "facts": facts(studies),
        "chapters": chapters,
        "reading": READING,
        "marks": mark_terms(test),
        "terms": metric_terms(metric for study in studies for metric in study.metrics),
        "files": [
            *((table.name, table.about) for table in cover.tables),
            *([_FIGURES] if drawn else []),
        ],
    }
    for table in cover.tables:
        table.write(studies, folder)
    write_page(page, template("page.html.j2").render(values))
    write_page(text, template("page.md.j2", md=escape_markdown).render(values))
    for figure in figures_before - _figures_of(text):
        remove_figure(folder / "figures", figure)
    for old in tables_before - _tables_of(text):
        (folder / old).unlink(missing_ok=True)
    return page


def escape_markdown(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line.

    >>> print(escape_markdown("a_b | <c> [1, 2] [d](e)"))
    a\_b \| &lt;c&gt; [1, 2] [d]\(e)
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|~]|(?<=\])\()", r"\\\1", plain)


def _chapters(studies: Iterable[StudyResults], figures: Path, test: Test) -> Iterator[Chapter]:
    taken: set[str] = set()
    for study in studies:
        place = _place(study.name, taken)
        asked = {name: SECTIONS[name] for name in study.show}
        reasons = {name: kind.why_not(study) for name, kind in asked.items()}
        sections = [
            _with_pictures(kind.of(study, test), place, name, figures)
            for name, kind in asked.items()
            if not reasons[name]
        ]
        absent = [f"{asked[name].title} ({reason})" for name, reason in reasons.items() if reason]
        yield Chapter(
            place,
            study.title,
            study.about,
            study_line(study),
            sections,
            f"Left out: {'; '.join(absent)}." if absent else "",
        )


def _with_pictures(section: Section, place: str, name: str, figures: Path) -> Section:
    """Write the figures of a section, and put pictures in their places."""
    blocks = [
        write_figure(replace(block, name=f"{place}-{block.name}"), figures)
        if isinstance(block, CaptionedFigure)
        else block
        for block in section.blocks
    ]
    return Section(section.title, blocks, f"{place}-{name}")


def _place(name: str, taken: set[str]) -> str:
    """Return a spec's name as it fits addresses and files, told from those before it."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "study"
    place, count = plain, 1
    while place in taken:
        count += 1
        place = f"{plain}-{count}"
    taken.add(place)
    return place


def _figures_of(page: Path) -> set[str]:
    """Return the figures that a page shows; none if there is no page."""
    return set(re.findall(r"\(figures/([\w-]+)\.png\)", _read(page)))


def _tables_of(page: Path) -> set[str]:
    """Return the tables that a page says lie beside it."""
    return set(re.findall(r"^- `(\w+\.csv)`:", _read(page), flags=re.MULTILINE))


def _read(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.is_file() else ""
