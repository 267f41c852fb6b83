"""How likely a policy was to show what it showed: what off-policy estimates divide by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


_ACTS = ("recommend", "scores", "slates", "adjust", "arrange")
"""Methods that decide what is shown."""


def is_drawn(part: Any) -> bool:
    """Return whether chance has a say in what a policy, exploration or re-ranker does.

    That it has none is believed of a class that says so itself; a subclass that decides otherwise
    has to say it again.
    """
    return part.is_random or not _vouched("is_random", part)


def knows_chances(part: Any) -> bool:
    """Return whether the propensities that a class returns are of what it does itself."""
    return _vouched("propensities", part)


def _vouched(claim: str, part: Any) -> bool:
    """Say whether no subclass changed what is shown after a class made a claim about it."""
    defined = {
        name: place
        for place, cls in reversed([*enumerate(type(part).__mro__)])
        for name in vars(cls)
    }
    return all(defined[claim] <= defined[act] for act in _ACTS if act in defined)


def ranks_in(ranking: Ints, slates: Ints) -> Ints:
    """Return where the items of slates stand in rankings (n, K), from 0 on; K if they do not."""
    same = slates[:, :, None] == ranking[:, None, :]  # (n, position, rank)
    return np.asarray(np.where(same.any(axis=2), same.argmax(axis=2), ranking.shape[1]))
