"""How likely a policy was to show what it showed: what off-policy estimates divide by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.types import Floats, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Propensities:
    """Probabilities of slates that were shown, given all that was learned before.

    Items of equal score count as ordered the way that they were: ties are not averaged over.
    """

    cascade: Floats
    """Of the items of a slate down to each position, in their order, (n, K)."""
    item_position: Floats | None = None
    """Of each item at its position, whatever stands at the others, (n, K); None if not known."""

    @classmethod
    def of_choices(cls, choices: Floats, item_position: Floats | None = None) -> Propensities:
        """Return those of slates that were filled from the top.

        `choices` are the probabilities of each item given those above it, (n, K).
        """
        cascade: Floats = np.cumprod(choices, axis=1, dtype=np.float64)
        return cls(cascade=cascade, item_position=item_position)

    @property
    def whole(self) -> Floats:
        """Of each slate as a whole, (n,)."""
        return self.cascade[:, -1]


def ranks_in(ranking: Ints, slates: Ints) -> Ints:
    """Return where the items of slates stand in rankings (n, K), from 0 on; K if they do not."""
    same = slates[:, :, None] == ranking[:, None, :]  # (n, position, rank)
    return np.asarray(np.where(same.any(axis=2), same.argmax(axis=2), ranking.shape[1]))
