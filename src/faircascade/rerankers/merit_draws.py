"""merit-draws: exposure in proportion to a merit that grows with the optimistic score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.propensities import Propensities, is_drawn
from faircascade.random import draws, gumbel
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.rerankers.base import Reranker, Shown
from faircascade.rerankers.ledger import Ledger
from faircascade.strengths import StrengthRange
from faircascade.types import Floats, Ints, Rows


@register("merit-draws", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class MeritDraws(Reranker):
    """Draws items without replacement with probabilities proportional to exp(sharpness * score).

    After Wang et al. (2021), whose policy chooses single arms: neither they nor the paper define
    one for slates. The draw takes the largest of sharpness * score + Gumbel noise, and these
    sums are the scores of the slate.
    """

    needs_all_scores: ClassVar[bool] = True
    itemwise: ClassVar[bool] = True

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("sharpness", 1e5, 1.0)

    sharpness: float = 400.0
    """How much a higher score counts, c, >= 0; 0 is uniform, a very large one changes nothing."""

    def __post_init__(self) -> None:
        if not (self.sharpness >= 0 and math.isfinite(self.sharpness)):
            raise ParameterError("sharpness", "must be >= 0", self.sharpness)

    def kernel(self) -> Mapping[str, Any]:
        return {"drawn_by_merit": True, "sharpness": float(self.sharpness)}

    def adjust(self, request: SlateRequest, scores: Scores, ledger: Ledger | None) -> Scores:
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)
        where = (request.users[:, None], rounds[:, None], request.pool.keys[None])
        noise = gumbel(draws(request.seed, "fairx", *where))  # (n, p)

        def exact(rows: Rows, columns: Rows) -> Floats:
            return np.asarray(self.sharpness * scores.exact(rows, columns) + noise[rows, columns])

        return scores.replaced(self.sharpness * scores.rough + noise, self.sharpness, exact)

    def propensities(self, shown: Shown) -> Propensities | None:
        if is_drawn(shown.exploration):
            return None
        logits = np.asarray(self.sharpness * shown.scores.rough, dtype=np.float64)  # (n, p)
        columns = np.searchsorted(shown.request.pool.rows, shown.slates)
        return Propensities.of_choices(choices(logits, columns))


def choices(logits: Floats, listed: Ints) -> Floats:
    """Return exp(z) over its sum for the items left, at each position of slates of columns, (n, K).

    The sums are taken from the end of the slate, where they are smallest: what is left when the
    large terms have gone would be lost in a difference.
    """
    shown = np.take_along_axis(logits, listed, axis=1)  # (n, K)
    others = logits.copy()
    np.put_along_axis(others, listed, -np.inf, axis=1)
    left = _log_sum(others)
    chosen = np.empty_like(shown)
    for position in reversed(range(shown.shape[1])):
        left = np.logaddexp(left, shown[:, position])
        chosen[:, position] = np.exp(shown[:, position] - left)
    return chosen


def _log_sum(logits: Floats) -> Floats:
    """Return log(sum(exp(z))) of each row, (n,); minus infinity if all of them are."""
    top = logits.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
    return np.asarray(np.where(np.isneginf(top), top, total))
