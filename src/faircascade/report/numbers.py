"""Numbers as text: with about four digits, a real minus sign, and a dash for none."""

from __future__ import annotations

import math

DASH = "–"
"""What stands where there is no value."""


def number(value: float, like: float | None = None) -> str:
    """Return a number with about four digits, or with as many decimals as `like` gets.

    >>> [number(v) for v in (0.39641, 21.4174, 123.456, 45678.9, float("nan"))]
    ['0.3964', '21.42', '123.5', '45,679', '–']
    """
    if not math.isfinite(value):
        return DASH
    size = abs(value if like is None or not math.isfinite(like) else like)
    decimals = next((d for d, edge in ((4, 10), (2, 100), (1, 1000)) if size < edge), 0)
    return _minus(f"{value:,.{decimals}f}")


def percent(value: float) -> str:
    """Return a signed change in percent.

    >>> percent(-3.14159), percent(1234.5), percent(float("nan"))
    ('−3.1%', '+1,234%', '–')
    """
    if not math.isfinite(value):
        return DASH
    if abs(value) < 0.05:
        return "0.0%"
    return _minus(f"{value:+,.0f}%" if abs(value) >= 1000 else f"{value:+.1f}%")


def signed(value: float, like: float | None = None, *, decimals: int | None = None) -> str:
    """Return a number with its sign, as `number` writes it or with so many decimals.

    >>> signed(0.01234), signed(-2.5, like=123.0), signed(1.234, decimals=2), signed(-1e-9)
    ('+0.0123', '−2.5', '+1.23', '0.0000')
    """
    if decimals is None or not math.isfinite(value):
        shown = number(value, like)
    else:
        shown = _minus(f"{value:,.{decimals}f}")
    if not set(shown) & set("123456789"):  # none, or rounded to nothing
        return shown.removeprefix("−")
    return f"+{shown}" if value > 0 else shown


def p_value(value: float) -> str:
    """Return a p-value.

    >>> p_value(0.04321), p_value(0.00001), p_value(float("nan"))
    ('0.0432', '< 0.0001', '–')
    """
    if not math.isfinite(value):
        return DASH
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def share(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.1f}%" if math.isfinite(value) else DASH


def _minus(text: str) -> str:
    return text.replace("-", "−")
