"""The frame of a page about a log: sections with their figures, notes, facts and files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faircascade.report.blocks import Notice, Section
from faircascade.report.page_writer import Chapter, escape_markdown
from faircascade.report.pages import CaptionedFigure, template, write_figure, write_page
from faircascade.report.style import drawing
from faircascade.storage import check_folder, free_folder

Pair = tuple[str, str]


@dataclass(frozen=True)
class Cover:
    """What the page's template asks of a cover."""

    title: str
    notes: list[str] = field(default_factory=list)
    alone: bool = True


@dataclass(frozen=True, kw_only=True)
class LogPage:
    """What a page about a log says, beside its sections."""

    name: str
    """Of its files, and of the folder below `runs` if none is given."""
    title: str
    notes: Sequence[str]
    facts: Iterable[Pair]
    reading: str
    """How to read it."""
    terms: Iterable[Pair]
    tables: dict[str, Pair]
    """Files beside the page, by name: what is in them in words, and their text."""

    def write(self, sections: Callable[[], Iterable[Section]], folder: str | Path | None) -> Path:
        """Write the page as HTML and Markdown, figures and tables; return the path of the page.

        `sections` is called where figures can be drawn. Without a folder, a free one below `runs`
        is taken and printed.
        """
        chosen = check_folder(free_folder(self.name) if folder is None else folder)
        with drawing():
            drawn = [self._with_pictures(section, chosen / "figures") for section in sections()]
        values: dict[str, Any] = {
            "cover": Cover(self.title),
            "notices": [Notice("Note", f"{note[0].upper()}{note[1:]}.") for note in self.notes],
            "overview": [],
            "verdicts": [],
            "facts": list(self.facts),
            "chapters": [Chapter(self.name, self.title, "", "", drawn, "")],
            "reading": self.reading,
            "marks": [],
            "terms": list(self.terms),
            "files": [
                *((name, about) for name, (about, _) in self.tables.items()),
                ("figures", "Every figure as PNG and SVG."),
            ],
        }
        for name, (_, text) in self.tables.items():
            write_page(chosen / name, text)
        markdown = template("page.md.j2", md=escape_markdown)
        write_page(chosen / f"{self.name}.md", markdown.render(values))
        page = chosen / f"{self.name}.html"
        write_page(page, template("page.html.j2").render(values))
        if folder is None:
            print(f"Page: {page}", file=sys.stderr)
        return page

    def _with_pictures(self, section: Section, figures: Path) -> Section:
        blocks = [
            write_figure(replace(block, name=f"{self.name}-{block.name}"), figures)
            if isinstance(block, CaptionedFigure)
            else block
            for block in section.blocks
        ]
        return Section(section.title, blocks, section.place)
