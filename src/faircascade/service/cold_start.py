"""Users of whom little is known begin with what users with their labels have taught.

All that is learned is a sum over slates, so what a cohort taught on average can be added to the
sums of a user as if it were some slates more. That is a power prior of fixed size: the likelihood
of what others did is raised to the power that makes it worth so many slates, and fades by itself as
those of the user become more. `benchmarks/cold_start.py` compares it with weights that fade faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from faircascade.service.messages import RecommendationRequest
from faircascade.service.stores.base import Store, UserStates
from faircascade.types import Floats

COHORTS = "cohorts"
"""Under which name the store keeps which labels have cohorts."""
MOST_COHORTS = 1_000
"""Labels that have cohorts, of all services on a store together."""
_MOST_ATTEMPTS = 20
"""How often labels are added while others add some."""

Labels = tuple[str, ...]
"""Of one user, such as `country=de`, each once, in order."""


def labels_of(request: RecommendationRequest) -> Labels:
    """Return the labels of the user of a request."""
    return tuple(sorted(f"{name}={value}" for name, value in request.user_labels.items()))


class ColdStart:
    """Adds what cohorts taught to what is known of users."""

    def __init__(self, slates: int, *, ignored: Callable[[int], None] = lambda _: None) -> None:
        """Let a cohort count as `slates` slates at most, and tell how many labels are ignored."""
        self.slates = slates
        self._ignored = ignored
        self._known: frozenset[str] = frozenset()

    async def begin(
        self, store: Store, requests: Sequence[RecommendationRequest], states: UserStates
    ) -> tuple[UserStates, list[Labels]]:
        """Return what is known of users with what their cohorts add, and their labels that count.

        Whoever brings no labels is known as before, to the last bit.
        """
        given = [labels_of(request) for request in requests]
        if not any(given):
            return states, given
        known = await self._counting(store, given)
        labels = [tuple(name for name in names if name in known) for names in given]
        if count := sum(map(len, given)) - sum(map(len, labels)):
            self._ignored(count)
        wanted = sorted({name for names in labels for name in names})
        if not wanted:
            return states, labels
        found = await store.cohorts(wanted)
        sums = states.sums.copy()
        known_sums = found.sums[:, : sums.shape[1]]  # others may have made room for more meanwhile
        taught = dict(zip(wanted, zip(found.slates.tolist(), known_sums, strict=True), strict=True))
        for place, names in enumerate(labels):
            if names:
                sums[place] += prior([taught[name] for name in names], self.slates)
        return replace(states, sums=sums), labels

    async def _counting(self, store: Store, given: Sequence[Labels]) -> frozenset[str]:
        """Return the labels that have cohorts, or may have; new ones are added if there is room."""
        new = {name: None for names in given for name in names if name not in self._known}
        for _ in range(_MOST_ATTEMPTS):
            if not new or len(self._known) >= MOST_COHORTS:
                break
            kept = await store.get_meta(COHORTS)
            known = kept or []
            more = [name for name in new if name not in known][: MOST_COHORTS - len(known)]
            if not more or await store.replace_meta(COHORTS, kept, [*known, *more]):
                self._known = frozenset([*known, *more])
                break
        return self._known


def prior(cohorts: Sequence[tuple[int, Floats]], slates: float) -> Floats:
    """Return what cohorts add to the sums of a user: the mean of what each taught on average, as so
    many slates, or as many as taught it if these are fewer.

    Cohorts that nobody taught are left out.

    >>> prior([(4, np.array([4.0, 2.0])), (1, np.array([1.0, 3.0])), (0, np.zeros(2))], 2.0)
    array([1.5, 2. ])
    """
    taught = [sums * (min(slates, count) / count) for count, sums in cohorts if count]
    if not taught:
        return np.zeros_like(cohorts[0][1])
    return np.mean(taught, axis=0)  # type: ignore[no-any-return]
