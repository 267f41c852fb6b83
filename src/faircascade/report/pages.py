"""What pages share: figures with their words and files, and how templates are read."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from matplotlib.figure import Figure

from faircascade.report.style import file_bytes
from faircascade.storage import replacing

FORMS: tuple[Literal["png", "svg"], ...] = ("png", "svg")
"""What every figure is written as."""


@dataclass(frozen=True, eq=False)
class CaptionedFigure:
    """A figure with the words that go with it."""

    name: str
    """Of its files."""
    title: str
    caption: str
    """What to look at."""
    alt: str
    figure: Figure


@dataclass(frozen=True)
class FigureImage:
    """A figure as the page has it."""

    kind: ClassVar[str] = "picture"

    name: str
    title: str
    caption: str
    alt: str
    source: str
    """The PNG as a data address."""
    width: int
    height: int


def write_figure(plate: CaptionedFigure, folder: Path) -> FigureImage:
    """Write a figure's files into a folder; return it as a page has it."""
    files = {form: file_bytes(plate.figure, form) for form in FORMS}
    for form, content in files.items():
        with replacing(folder / f"{plate.name}.{form}") as temporary:
            temporary.write_bytes(content)
    width, height = plate.figure.get_size_inches()
    return FigureImage(
        plate.name,
        plate.title,
        plate.caption,
        plate.alt,
        "data:image/png;base64," + base64.b64encode(files["png"]).decode("ascii"),
        round(96 * width),
        round(96 * height),
    )


def remove_figure(folder: Path, name: str) -> None:
    """Remove a figure of an older page."""
    for form in FORMS:
        (folder / f"{name}.{form}").unlink(missing_ok=True)


def write_page(path: Path, text: str) -> None:
    """Write a text with the same bytes on every platform, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def template(name: str, **filters: Callable[..., str]) -> Template:
    """Return a template of this room; in pages (.html) what is put in is text, not markup."""
    reader = Environment(
        loader=PackageLoader("faircascade.report"),
        autoescape=lambda given: given is not None and ".html" in given,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    reader.filters.update(filters)
    return reader.get_template(name)
