"""What a page is made of, before it is HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from faircascade.report.pages import CaptionedFigure, FigureImage

Tone = Literal["", "strong", "soft", "better", "worse"]


@dataclass(frozen=True)
class Line:
    """One line of a table's cell."""

    text: str
    tone: Tone = ""
    spoken: str = ""
    """What sign and colour say, for those who do not see them."""


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    title: str
    below: str = ""
    meaning: str = ""
    prose: bool = False
    """True if its cells are sentences."""


@dataclass(frozen=True)
class Row:
    label: str
    cells: tuple[tuple[Line, ...], ...]
    colour: str = ""
    """As in the figures; empty if there is none."""
    tags: tuple[str, ...] = ()
    """Said below the label: baseline, rounds."""


@dataclass(frozen=True)
class Group:
    """Rows that belong together."""

    rows: tuple[Row, ...]
    title: str = ""


@dataclass(frozen=True)
class Table:
    kind: ClassVar[str] = "table"

    title: str
    heads: tuple[Head, ...]
    groups: tuple[Group, ...]
    corner: str = "Policy"
    folded: bool = False
    """True if it is put away until asked for; it must have a title."""

    @property
    def size(self) -> int:
        """How many rows it has."""
        return sum(len(group.rows) for group in self.groups)


@dataclass(frozen=True)
class Prose:
    kind: ClassVar[str] = "prose"

    text: str
    soft: bool = False


@dataclass(frozen=True)
class Lead:
    """What a page says before anything else."""

    kind: ClassVar[str] = "lead"

    text: str


@dataclass(frozen=True)
class Notice:
    """Something that nobody must miss."""

    kind: ClassVar[str] = "notice"

    lead: str
    text: str


@dataclass(frozen=True)
class Listing:
    """Terms and what is said about each, folded away until asked for."""

    kind: ClassVar[str] = "listing"

    title: str
    entries: tuple[tuple[str, str], ...]


Block = Table | Prose | Lead | Notice | Listing | CaptionedFigure | FigureImage


@dataclass(frozen=True, eq=False)
class Section:
    """A section: figures, tables and text."""

    title: str
    blocks: Sequence[Block]
    place: str = ""
    """Its name in addresses, once it is on a page."""


def text(value: str, tone: Tone = "") -> tuple[Line, ...]:
    """Return a cell of one line."""
    return (Line(value, tone),)
