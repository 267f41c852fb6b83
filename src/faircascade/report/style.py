"""One look for all figures: colours, lines, log axes, and files that are the same bytes twice.

Figures are built with matplotlib's object-oriented API only. Settings that exist nowhere but in
matplotlib's parameters hold inside `drawing()` and are put back after it.
"""

from __future__ import annotations

import base64
import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from PIL import Image

DPI = 150
INK = "#333333"
FAINT = "#d9d9d9"
NEUTRAL = "#7a7a7a"
"""The baseline's grey."""

_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#4b2e83", "#7f4f24"),
)
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (9, 2, 2, 2)),
)
MARKERS = ("s", "^", "D", "v", "P", "X", "<")

DOTTED: dict[str, Any] = {"color": INK, "linestyle": (0, (1, 1.6)), "linewidth": 1.2}
"""For what is not a policy: an optimum, equality."""
SOLID: dict[str, Any] = {"color": INK, "linewidth": 1.0}
PALE: dict[str, Any] = {"color": "#c9c9c9", "linewidth": 0.9}
"""For lines of policies that are there to be seen as many, not one by one."""
CROSS: dict[str, Any] = {
    "color": NEUTRAL,
    "marker": "x",
    "markersize": 9,
    "markeredgewidth": 2.5,
    "linestyle": "none",
}
"""For a baseline that is a point among lines."""

HALO = [withStroke(linewidth=2.0, foreground="white")]
"""For words that lines may cross."""

DIVERGING = LinearSegmentedColormap.from_list("blue-orange", ["#0b559f", "#c4c4c4", "#d1500a"])
"""Blue for less, grey for equal, orange for more; grey, so that no point vanishes on white."""

_PARAMETERS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a label is a dollar sign
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#e9e9e9",
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
    "figure.dpi": DPI,
    "svg.fonttype": "none",
    "svg.hashsalt": "faircascade",
}


@dataclass(frozen=True)
class LineStyle:
    """How one policy is drawn in every figure of a report."""

    label: str
    """As it fits a legend."""
    colour: str
    dashes: Any
    marker: str
    width: float
    order: float

    @property
    def line(self) -> dict[str, Any]:
        """Arguments for `Axes.plot`."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "linewidth": self.width,
            "zorder": self.order,
            "solid_capstyle": "round",
        }

    @property
    def point(self) -> dict[str, Any]:
        """Arguments for `Axes.errorbar`."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "markersize": 9,
            "linestyle": "none",
        }


def line_styles(labels: Sequence[str]) -> dict[str, LineStyle]:
    """Return the look of each policy, by its place; the first is the baseline, in grey.

    The baseline is drawn wide and below, so that a policy with the very same line shows on it.
    """
    found = {labels[0]: LineStyle(legend_label(labels[0]), NEUTRAL, "-", "o", 3.0, 2.0)}
    styles = zip(cycle(_COLOURS), cycle(DASHES), cycle(MARKERS), strict=False)
    for place, (label, (colour, dashes, marker)) in enumerate(
        zip(labels[1:], styles, strict=False)
    ):
        found[label] = LineStyle(
            legend_label(label), colour, dashes, marker, 1.6, 3.0 + place / 100
        )
    return found


def legend_label(label: str, longest: int = 34) -> str:
    """Return a label of bounded length on one line, its middle left out if need be."""
    plain = "".join(c if c.isprintable() else " " for c in label).strip() or "(no label)"
    if len(plain) <= longest:
        return plain
    tail = longest // 2 - 1
    return f"{plain[: longest - tail - 1]}…{plain[-tail:]}"


def wrapped_label(label: str, width: int) -> str:
    """Return a label on as many lines as it needs; a word that is too long is broken."""
    plain = "".join(c if c.isprintable() else " " for c in label).strip() or "(no label)"
    return "\n".join(textwrap.wrap(plain, width, max_lines=3, placeholder="…"))


def legend(
    figure: Figure,
    drawn: Mapping[str, LineStyle],
    *,
    dotted: str = "",
    solid: str = "",
    cross: str = "",
    pale: str = "",
    words: Mapping[str, str] | None = None,
    points: bool = False,
) -> None:
    """Put one legend above all panels, in as many columns as fit.

    `dotted`, `solid`, `cross` and `pale` name what is drawn so and is no line of one policy.
    """
    handles = [Line2D([], [], **(k.point if points else k.line)) for k in drawn.values()]
    labels = [(words or {}).get(label, look.label) for label, look in drawn.items()]
    for name, drawn_so in (
        (dotted, DOTTED),
        (solid, SOLID),
        (cross, CROSS),
        (pale, PALE),
    ):
        if name:
            handles.append(Line2D([], [], **drawn_so))
            labels.append(name)
    widths = [5.6 * len(label) + (28 if points else 42) for label in labels]  # points
    room = 72 * figure.get_figwidth()
    columns = len(labels) if sum(widths) < room else max(1, int(room / max(widths)))
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + 0.19 * (rows - 1))  # panels keep their size
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=-(-len(labels) // rows),
        handlelength=1.0 if points else 2.6,
        columnspacing=1.2,
    )


@contextmanager
def drawing() -> Iterator[None]:
    """Hold the style of this room, whatever the user's own settings are."""
    with warnings.catch_warnings(), style.context(["default", _PARAMETERS]):
        # A label in a script that the font lacks is drawn as boxes: the tables have it as text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def file_bytes(figure: Figure, form: Literal["png", "svg"]) -> bytes:
    """Return the figure as the contents of a file, without dates or versions."""
    metadata = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, dpi=DPI, metadata=metadata)
    if form == "png":
        return _with_palette(buffer)
    return re.sub(rb"(?<=data:image/png;base64,)[^\"]+", _smaller, buffer.getvalue())


def _with_palette(png: io.BytesIO) -> bytes:
    """Return the picture with 256 colours: a third of the size, and nobody can tell."""
    small = io.BytesIO()
    with Image.open(png) as picture:
        flat = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    flat.save(small, format="png", optimize=True, dpi=(DPI, DPI))
    return small.getvalue()


def _smaller(encoded: re.Match[bytes]) -> bytes:
    """Return what is rasterised within an SVG with 256 colours, transparent ones included."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(encoded[0]))) as picture:
        flat = picture.convert("RGBA").quantize(256, method=Image.Quantize.FASTOCTREE)
    flat.save(small, format="png", optimize=True)
    return base64.b64encode(small.getvalue())


def log_axis(ax: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """Make an axis logarithmic from low to high, with plain numbers, denser if it spans little."""
    pad = max((high / low) ** 0.04, 1.1)
    axis = ax.xaxis if which == "x" else ax.yaxis
    ax.set(**{f"{which}lim": (low / pad, high * pad)})  # before the scale: it refuses an empty span
    ax.set(**{f"{which}scale": "log"})
    axis.set_major_locator(LogLocator(subs=_steps(high / low)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _steps(span: float) -> tuple[float, ...]:
    """Return the ticks of a decade for an axis whose ends differ by a factor."""
    if span < 4:
        return (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)
    return (1.0, 2.0, 5.0) if span < 300 else (1.0,)


def plain_number(value: float) -> str:
    """Return a tick label without powers.

    >>> plain_number(10_000.0), plain_number(1.5), plain_number(0.001), plain_number(0.0)
    ('10,000', '1.5', '0.001', '0')
    """
    decimals = 2 if abs(value) >= 1 else 10
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def percent_tick(value: float, _: float | None = None) -> str:
    """Return a signed tick label in percent."""
    return f"{value:+.0f}%".replace("-", "−") if value else "0%"
