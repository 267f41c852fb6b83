"""What the service did since it started, whoever asked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from faircascade.service.messages import FeedbackReceipt, Recommendation, Refused

OUTCOMES = ("learned", "repeated", "conflict", "unknown", "invalid")


class Activity:
    """Counts of slates, answers and clicks."""

    def __init__(self) -> None:
        self.recommendations = 0
        """Slates handed out."""
        self.answers: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
        """Answers by what became of them."""
        self.clicks = 0
        """Clicks that were learned."""
        self.reward = 0.0
        """Reward of answers that were learned: as many as clicks, if nothing else is said."""
        self.positions = 0
        """Positions of the slates that were handed out."""
        self.unshown = 0
        """Of these, those of which answers say that they were not shown."""
        self.clicked = 0
        """Answers with a click that were learned."""

    def recommended(self, results: Iterable[Recommendation | Refused]) -> None:
        """Count slates."""
        for result in results:
            if isinstance(result, Recommendation):
                self.recommendations += 1
                self.positions += len(result.items)

    def learned(self, results: Iterable[FeedbackReceipt | Refused]) -> None:
        """Count answers."""
        for result in results:
            if isinstance(result, Refused):
                self.answers[result.reason.value] += 1
            elif result.repeated:
                self.answers["repeated"] += 1
            else:
                self.answers["learned"] += 1
                self.clicks += len(result.clicked_positions)
                self.clicked += bool(result.clicked_positions)
                self.unshown += result.unshown
                self.reward += result.reward
