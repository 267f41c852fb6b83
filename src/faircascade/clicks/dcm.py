"""The dependent click model: users may go on after a click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.clicks.base import put_best_first
from faircascade.clicks.sequential import Continuation, SequentialModel
from faircascade.probabilities import Probabilities, by_position, check_probabilities
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Ints, Pool


@register("dcm", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class DCM(SequentialModel):
    """After a click at position k users stop with probability v_k, else look on (Guo 2009).

    With v = 1 it is the cascade. A slate is worth the probability of stopping satisfied,
    1 - prod(1 - v_k w_k), as in Katariya 2016: not its number of clicks. The best slates have the
    most attractive items, and of these the more attractive where users stop more readily:
    -log(1 - v w) has a positive mixed derivative, so that like goes with like.
    """

    value_is_clicks: ClassVar[bool] = False

    stop: Probabilities = 0.5
    """Probability of stopping after a click, in [0, 1]: one number, or one for each position."""

    def __post_init__(self) -> None:
        check_probabilities("stop", self.stop)

    def numbers(self, k: int) -> Continuation:
        stop = by_position("stop", self.stop, k)
        return Continuation(ignored=1.0, clicked=1.0 - stop, gain=stop)

    def best(self, attraction: Scores, k: int, pool: Pool) -> Ints:
        slates = SequentialModel.best(self, attraction, k, pool)
        return put_best_first(slates, by_position("stop", self.stop, k))
