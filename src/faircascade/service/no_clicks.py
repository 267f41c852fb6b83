"""Slates that nobody answered in time: they are learned as not clicked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faircascade.service.activity import Activity
from faircascade.service.expiry import ExpiryClock
from faircascade.service.learning import Answer, model_updates
from faircascade.service.lineup import Lineup
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import ModelUpdate, Store, UpdateOutcome

AT_ONCE = 100
"""Slates that are learned together: requests wait no longer than for so many."""


class NoClicks:
    """Learns what was not answered within a time, each slate once, whoever else does so too."""

    def __init__(
        self,
        settings: ServiceSettings,
        clock: Callable[[], float],
        elapsed: Callable[[], float],
        activity: Activity,
    ) -> None:
        """Wait by a clock that does not leap: a slate of a moment ago could be old all at once."""
        self._after = settings.no_click_after
        self._shown = settings.no_click_shown
        self._clock = clock
        self._now = None if self._after is None else ExpiryClock(self._after, clock, elapsed)
        self._activity = activity

    def watch(self) -> None:
        """Look at the clock; to be called every few seconds, so that a leap is noticed."""
        if self._now is not None:
            self._now()

    async def learn(self, store: Store, lineup: Lineup, dim: int) -> int:
        """Learn some of the oldest; return how many there were, 0 if none is left."""
        if self._after is None or self._now is None:
            return 0
        found = await store.unanswered(self._now() - self._after, AT_ONCE)
        if not found:
            return 0
        now = self._clock()
        answers = [
            Answer(
                impression=impression,
                clicked=(),
                shown=min(self._shown or len(impression.slots), len(impression.slots)),
                default=True,
            )
            for impression in found
        ]
        results = model_updates(answers, lineup, now, dim=dim)
        updates = [
            # of a slate that teaches nothing it is only kept that it was not answered
            result if isinstance(result, ModelUpdate) else answer.update(0, np.zeros(0), now)
            for answer, result in zip(answers, results, strict=True)
        ]
        outcomes = await store.learn(updates)
        self._activity.defaulted(outcomes.count(UpdateOutcome.LEARNED))
        return len(found)
