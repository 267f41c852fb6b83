"""One page, complete in itself, and the figures beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from faircascade.engine import HEADLINE
from faircascade.experiment import Comparison
from faircascade.report import figures, series, setup, tables
from faircascade.report.pages import FigureImage, remove_figure, template, write_figure, write_page
from faircascade.report.style import drawing, line_styles

PAGE = "report.html"


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
    write_page(folder / PAGE, page)
    return folder / PAGE


def render(
    comparison: Comparison,
    pictures: Sequence[FigureImage],
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the page."""
    others = [metric for metric in comparison.metrics if metric not in HEADLINE]
    data = str(comparison.env.info.get("data", "unnamed data"))
    cut_short, longest = setup.cut_short(comparison)
    return template("report.html.j2").render(
        title=title or f"Clicks and fair exposure: {data}",
        data=data,
        comparison=comparison,
        colours={label: look.colour for label, look in line_styles(comparison.labels).items()},
        headline=tables.metric_table(comparison, HEADLINE),
        others=tables.metric_table(comparison, others),
        groups=tables.group_tables(comparison),
        optimal=tables.number(series.optimal_value(comparison)),
        pictures=pictures,
        notes=notes,
        data_notes=setup.data_notes(comparison),
        facts=setup.facts(comparison),
        options=setup.options(comparison),
        policies=setup.policy_facts(comparison),
        cut_short=cut_short,
        longest=longest,
    )


def _write_figures(comparison: Comparison, folder: Path) -> list[FigureImage]:
    with drawing():
        pictures = [write_figure(plate, folder) for plate in figures.draw(comparison)]
    for name in figures.FIGURES.keys() - {picture.name for picture in pictures}:
        remove_figure(folder, name)
    return pictures
