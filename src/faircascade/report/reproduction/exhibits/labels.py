"""Words beside points, where there is room for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

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
    inside = ax.get_window_extent()
    found = [(p, ax.transData.transform((p.x, p.y))) for line in lines for p in line]
    taken = [_box(at[0], at[1], p.size * pixels, p.size * pixels) for p, at in found]
    for line in lines:
        taken += _along(ax.transData.transform([(p.x, p.y) for p in line]))
    for point, at in found:
        width, height = 0.62 * _SIZE * len(point.words) * pixels, 1.1 * _SIZE * pixels
        gap = point.size / 2 + _GAP
        for right, up, ha, va in _PLACES if point.words else ():
            middle_x = at[0] + right * (gap * pixels + width / 2)
            middle_y = at[1] + up * (gap * pixels + height / 2)
            box = _box(middle_x, middle_y, width, height)
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
                ).set_in_layout(False)
                taken.append(box)
                break


def _along(corners: Any) -> Iterator[Bbox]:
    """Yield small boxes along a line."""
    for start, end in pairwise(corners):
        steps = max(int(np.hypot(*(end - start)) / 4), 1)
        for share in np.linspace(0, 1, min(steps, 400)):
            x, y = start + share * (end - start)
            yield _box(x, y, 3, 3)


def _box(x: float, y: float, width: float, height: float) -> Bbox:
    return Bbox.from_bounds(x - width / 2, y - height / 2, width, height)


def _within(box: Bbox, outer: Bbox) -> bool:
    return bool(
        outer.x0 <= box.x0 and box.x1 <= outer.x1 and outer.y0 <= box.y0 and box.y1 <= outer.y1
    )


def _covers(box: Bbox, others: Iterable[Bbox]) -> bool:
    return any(box.overlaps(other) for other in others)
