"""The page of a reproduction: HTML, Markdown, figures and tables, from result files alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faircascade.experiment.study import Study
from faircascade.report.pages import (
    Plate,
    remove_figure,
    template,
    write_page,
    write_plate,
)
from faircascade.report.reproduction.blocks import Section
from faircascade.report.reproduction.exhibits import EXHIBITS, check_show
from faircascade.report.reproduction.facts import facts, notices, study_line
from faircascade.report.reproduction.files import FILES, write_tables
from faircascade.report.style import drawing

PAGE, TEXT = "reproduction.html", "reproduction.md"
TITLE = "Exposure-aware cascading bandits: a reproduction"


@dataclass(frozen=True, eq=False)
class Chapter:
    """A study as the page has it."""

    place: str
    """Its name in addresses and files."""
    title: str
    about: str
    line: str
    sections: Sequence[Section]


def write_reproduction(
    studies: Sequence[Study],
    folder: str | Path,
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write `reproduction.html`, `reproduction.md`, `figures/` and three tables into a folder.

    Each study is shown as its spec asks (`show`), as far as it is finished. An older page there is
    replaced, and its figures that are no longer shown are removed. Returns the page's path.
    """
    for study in studies:
        check_show(study.spec)
    folder = Path(folder)
    before = _figures_of(folder / TEXT)
    with drawing():
        chapters = list(_chapters(studies, folder / "figures"))
    values: dict[str, Any] = {
        "title": title or TITLE,
        "notes": list(notes),
        "notices": notices(studies),
        "facts": facts(studies),
        "chapters": chapters,
        "files": FILES,
    }
    write_tables(studies, folder)
    write_page(folder / PAGE, template("reproduction.html.j2").render(values))
    markdown = template("reproduction.md.j2", md=escape_markdown)
    write_page(folder / TEXT, markdown.render(values))
    for name in before - _figures_of(folder / TEXT):
        remove_figure(folder / "figures", name)
    return folder / PAGE


def escape_markdown(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line.

    >>> print(escape_markdown("a_b | <c> [1, 2] [d](e)"))
    a\_b \| &lt;c&gt; [1, 2] [d]\(e)
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|~]|(?<=\])\()", r"\\\1", plain)


def _chapters(studies: Iterable[Study], figures: Path) -> Iterator[Chapter]:
    taken: set[str] = set()
    for study in studies:
        place = _place(study.spec.name, taken)
        sections = [
            _with_pictures(EXHIBITS[name](study), place, figures)
            for name in dict.fromkeys(study.spec.show)
        ]
        yield Chapter(place, study.spec.title, study.spec.about, study_line(study), sections)


def _with_pictures(section: Section, place: str, figures: Path) -> Section:
    """Write the figures of an exhibit, and put pictures in their places."""
    blocks = [
        write_plate(replace(block, name=f"{place}-{block.name}"), figures)
        if isinstance(block, Plate)
        else block
        for block in section.blocks
    ]
    return Section(section.title, blocks)


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
    if not page.is_file():
        return set()
    return set(re.findall(r"\(figures/([\w-]+)\.png\)", page.read_text(encoding="utf-8")))
