"""KL-UCB: the largest mean that the clicks seen so far do not rule out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.exploration.indices import UNSEEN, kl_index, kl_time
from faircascade.ranking import Scores
from faircascade.registry import register


@register("kl-ucb", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class KLUCB(Exploration):
    """The largest q with T kl(m, q) <= ln t + 3 ln ln t (Garivier and Cappe 2011).

    kl is the divergence of coins, so means are cut to [0, 1]. Items never seen come first.
    """

    asks: ClassVar[frozenset[str]] = frozenset({"mean", "counts", "time"})

    def kernel(self) -> Mapping[str, Any]:
        return {"index": "kl-ucb"}

    @property
    def is_random(self) -> bool:
        return False

    def scores(self, request: SlateRequest) -> Scores:
        mean, counts = request.beliefs.mean().all(), request.beliefs.counts()
        level = kl_time(request.beliefs.time())[:, None]
        seen = counts > 0
        budget = np.where(seen, level / np.where(seen, counts, 1.0), 0.0)
        return Scores.final(np.where(seen, kl_index(np.clip(mean, 0.0, 1.0), budget), UNSEEN))
