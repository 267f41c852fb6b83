"""Words beside points, where there is room for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from faircascade.report.style import HALO
from faircascade.types import Floats

_SIZE = 7.0  # points
_GAP = 1.5
_PLACES = (
    (1, 0, "left", "center"),
    (0, 1, "center", "bottom"),
    (0, -1, "center", "top"),
    (-1, 0, "right", "center"),
    (1, 1, "left", "bottom"),
    (-1, 1, "right", "bottom"),
    (1, -1, "left", "top"),
    (-1, -1, "right", "top"),
)
"""Where to put words, best first: direction and alignment."""


class Point(NamedTuple):
    """Where a point is, and what to write beside it."""

    x: float
    y: float
    words: str
    colour: str
    size: float
    """Its diameter in points."""


def label_points(ax: Axes, lines: Iterable[Sequence[Point]]) -> None:
    """Write words beside the points of lines unless they would cover a point, a line or words."""
    figure = ax.get_figure(root=True)
    if figure is None:
        return
    pixels = figure.dpi / 72
    extent = ax.get_window_extent()
    inside = np.array([extent.x0, extent.y0, extent.x1, extent.y1])
    found = [(p, ax.transData.transform((p.x, p.y))) for line in lines for p in line]
    sizes = np.array([p.size * pixels for p, _ in found])
    taken = _boxes(np.array([at for _, at in found]).reshape(-1, 2), sizes[:, None])
    for line in lines:
        taken = np.vstack([taken, *_along(ax.transData.transform([(p.x, p.y) for p in line]))])
    for point, at in found:
        size = np.array([0.62 * _SIZE * len(point.words) * pixels, 1.1 * _SIZE * pixels])
        gap = point.size / 2 + _GAP
        for right, up, ha, va in _PLACES if point.words else ():
            (box,) = _boxes((at + np.array([right, up]) * (gap * pixels + size / 2))[None], size)
            if _within(box, inside) and not _covers(box, taken):
                ax.annotate(
                    point.words,
                    (point.x, point.y),
                    xytext=(right * gap, up * gap),
                    textcoords="offset points",
                    ha=ha,
                    va=va,
                    fontsize=_SIZE,
                    color=point.colour,
                    zorder=5,
                    path_effects=HALO,
                ).set_in_layout(False)
                taken = np.vstack([taken, box])
                break


def _along(corners: Any) -> Iterator[Floats]:
    """Yield small boxes along each part of a line."""
    for start, end in pairwise(corners):
        steps = max(int(np.hypot(*(end - start)) / 4), 1)
        shares = np.linspace(0, 1, min(steps, 400))[:, None]
        yield _boxes(start + shares * (end - start), 3.0)


def _boxes(middles: Floats, sizes: Floats | float) -> Floats:
    """Return boxes of some sizes around points, (n, 4): left, bottom, right, top."""
    half = np.broadcast_to(np.asarray(sizes) / 2, middles.shape)
    return np.hstack([middles - half, middles + half])


def _within(box: Floats, outer: Floats) -> bool:
    return bool((outer[:2] <= box[:2]).all() and (box[2:] <= outer[2:]).all())


def _covers(box: Floats, others: Floats) -> bool:
    """Return whether a box has anything in common with one of the others."""
    return bool(((box[:2] <= others[:, 2:]) & (others[:, :2] <= box[2:])).all(axis=1).any())
