"""Every way in which a slate can be clicked, with its probability: click models by definition.

Nothing here is shared with the library. Each function follows one row of the table of models in
docs/reference/click-models.md, position by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from faircascade.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, ClickModel


class Outcome(NamedTuple):
    """What a user did with a slate."""

    clicks: tuple[bool, ...]
    satisfied: bool
    """Whether they stopped because of a click."""
    probability: float


def outcomes(model: ClickModel, w: Sequence[float], items: Sequence[int]) -> Iterator[Outcome]:
    """Yield all outcomes for items of attraction w; equal ones may come several times."""
    if isinstance(model, PBM | UBM):
        yield from _looked_at(model, w)
    else:
        yield from _followed(model, w, items, ())


def _followed(
    model: Any, w: Sequence[float], items: Sequence[int], above: tuple[bool, ...]
) -> Iterator[Outcome]:
    """Yield what follows from clicks above, for users who have come this far."""
    k, here = len(w), len(above)
    if here == k:
        yield Outcome(above, False, 1.0)
        return
    for clicked, chance in ((True, w[here]), (False, 1.0 - w[here])):
        satisfied, goes_on = _next(model, w[here], items[here], here, clicked)
        path = (*above, clicked)
        rest = (False,) * (k - here - 1)
        yield Outcome(path + rest, True, chance * satisfied)
        yield Outcome(path + rest, False, chance * (1.0 - satisfied - goes_on))
        for later in _followed(model, w, items, path):
            yield later._replace(probability=chance * goes_on * later.probability)


def _next(model: Any, w: float, item: int, here: int, clicked: bool) -> tuple[float, float]:
    """Return the probability of stopping satisfied, and of going on."""
    if isinstance(model, Cascade):
        return (1.0, 0.0) if clicked else (0.0, 1.0)
    if isinstance(model, DCM):
        stop = model.stop[here] if isinstance(model.stop, tuple) else model.stop
        return (stop, 1.0 - stop) if clicked else (0.0, 1.0)
    if isinstance(model, DBN):
        of = model.satisfaction
        satisfied = (of[item] if isinstance(of, tuple) else of) if clicked else 0.0
        return satisfied, (1.0 - satisfied) * model.continuation
    assert isinstance(model, CCM)
    return 0.0, model.t2 * (1.0 - w) + model.t3 * w if clicked else model.t1


def _looked_at(model: PBM | UBM, w: Sequence[float]) -> Iterator[Outcome]:
    for clicks in product((False, True), repeat=len(w)):
        chance = 1.0
        for here, clicked in enumerate(clicks):
            last = max((at + 1 for at in range(here) if clicks[at]), default=0)
            likely = _kappa(model, here + 1, here + 1 - last) * w[here]
            chance *= likely if clicked else 1.0 - likely
        yield Outcome(clicks, False, chance)


def _kappa(model: Any, position: int, distance: int) -> float:
    if model.kappa is None:
        return 1.0 / (position if isinstance(model, PBM) else distance)
    if isinstance(model, UBM):
        return float(model.kappa[position - 1][distance - 1])
    return float(model.kappa[position - 1] if isinstance(model.kappa, tuple) else model.kappa)
