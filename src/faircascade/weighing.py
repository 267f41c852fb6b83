"""Where the weight of a position enters a regression."""

from __future__ import annotations

from typing import Literal, get_args

from faircascade.errors import ParameterError

Weighs = Literal["targets", "observations"]
"""`targets`: what a click is worth, as in the paper. `observations`: how much it is trusted, as in
weighted least squares, which leaves what is learned undistorted."""


def check_weighs(weighs: str) -> None:
    """Refuse what is neither."""
    if weighs not in get_args(Weighs):
        raise ParameterError("weighs", f"must be one of {', '.join(get_args(Weighs))}", weighs)
