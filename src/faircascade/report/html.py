"""One page, complete in itself, and the figures beside it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from faircascade.engine import HEADLINE
from faircascade.experiment import Comparison
from faircascade.report import figures, series, setup, tables
from faircascade.report.style import drawing, file_bytes, looks
from faircascade.storage import replacing

PAGE = "report.html"


@dataclass(frozen=True)
class Picture:
    """A figure as the page has it."""

    name: str
    title: str
    caption: str
    alt: str
    source: str
    """The PNG as a data address."""
    width: int
    height: int


def write_report(
    comparison: Comparison,
    folder: str | Path,
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write `report.html` and `figures/*.png` and `*.svg` into a folder; return the page's path.

    The page needs nothing beside it: figures are inside. An older report there is replaced, and
    its figures that this comparison does not have are removed.
    """
    folder = Path(folder)
    pictures = _write_figures(comparison, folder / "figures")
    page = render(comparison, pictures, title=title, notes=list(notes))
    with replacing(folder / PAGE) as temporary:
        temporary.write_bytes(page.encode("utf-8"))
    return folder / PAGE


def render(
    comparison: Comparison,
    pictures: Sequence[Picture],
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the page."""
    templates = Environment(
        loader=PackageLoader("faircascade.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    others = [metric for metric in comparison.metrics if metric not in HEADLINE]
    data = str(comparison.env.info.get("data", "unnamed data"))
    cut_short, longest = setup.cut_short(comparison)
    return templates.get_template("report.html.j2").render(
        title=title or f"Clicks and fair exposure: {data}",
        data=data,
        comparison=comparison,
        colours={label: look.colour for label, look in looks(comparison.labels).items()},
        headline=tables.metric_table(comparison, HEADLINE),
        others=tables.metric_table(comparison, others),
        groups=tables.group_tables(comparison),
        optimal=tables.number(series.optimal_clicks(comparison)),
        pictures=pictures,
        notes=notes,
        data_notes=setup.data_notes(comparison),
        facts=setup.facts(comparison),
        options=setup.options(comparison),
        policies=setup.policy_facts(comparison),
        cut_short=cut_short,
        longest=longest,
    )


def _write_figures(comparison: Comparison, folder: Path) -> list[Picture]:
    pictures = []
    with drawing():
        for plate in figures.draw(comparison):
            files = {form: file_bytes(plate.figure, form) for form in ("png", "svg")}
            for form, content in files.items():
                with replacing(folder / f"{plate.name}.{form}") as temporary:
                    temporary.write_bytes(content)
            pictures.append(_picture(plate, files["png"]))
    drawn = {picture.name for picture in pictures}
    for name in figures.FIGURES.keys() - drawn:
        for form in ("png", "svg"):
            (folder / f"{name}.{form}").unlink(missing_ok=True)
    return pictures


def _picture(plate: figures.Plate, png: bytes) -> Picture:
    width, height = plate.figure.get_size_inches()
    return Picture(
        plate.name,
        plate.title,
        plate.caption,
        plate.alt,
        "data:image/png;base64," + base64.b64encode(png).decode("ascii"),
        round(96 * width),
        round(96 * height),
    )
