"""What the service did since it started, whoever asked for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from faircascade.service.messages import FeedbackReceipt, Recommendation, Refused

OUTCOMES = ("learned", "repeated", "conflict", "unknown", "invalid")
"""What may become of an answer."""


class Activity:
    """Counts of slates and clicks, and of answers by what became of them."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, float] = defaultdict(float)
        self._followers: list[Callable[[str, float], None]] = []

    def follow(self, follower: Callable[[str, float], None]) -> None:
        """Tell what is counted from now on, and first what was counted before."""
        self._followers.append(follower)
        for name, count in self.counts.items():
            follower(name, count)

    def _count(self, name: str, count: float = 1) -> None:
        self.counts[name] += count
        for follower in self._followers:
            follower(name, count)

    def recommended(self, results: Iterable[Recommendation | Refused]) -> None:
        """Count slates that were handed out, as `recommendations`, and their `positions`."""
        lengths = [len(one.items) for one in results if isinstance(one, Recommendation)]
        self._count("recommendations", len(lengths))
        self._count("positions", sum(lengths))

    def learned(self, results: Iterable[FeedbackReceipt | Refused]) -> None:
        """Count answers by outcome, and of those that were learned the `clicks` and how many were
        `clicked` at all."""
        for result in results:
            if isinstance(result, Refused):
                self._count(result.reason.value)
            elif result.repeated:
                self._count("repeated")
            else:
                self._count("learned")
                if result.clicked_positions:
                    self._count("clicks", len(result.clicked_positions))
                    self._count("clicked")
                if result.unshown:
                    self._count("unshown", result.unshown)
                self._count("reward", result.reward)

    def ignored_labels(self, labels: int) -> None:
        """Count labels of users that have no cohort, as there are too many."""
        self._count("labels_ignored", labels)

    def dropped_shadows(self, slates: int) -> None:
        """Count slates for which a policy in the shadow did not rank, as it takes too long."""
        self._count("shadows_dropped", slates)

    def defaulted(self, slates: int) -> None:
        """Count slates that were learned as not clicked, as nobody answered."""
        self._count("no_clicks", slates)
