"""What users made of ratings would be like, in every world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from faircascade.data.base import Ratings
from faircascade.data.prepare import Threshold
from faircascade.environment.agreement import Agreement, Estimate, agreement
from faircascade.environment.environment import Environment
from faircascade.environment.facts import EnvironmentFacts
from faircascade.environment.worlds import WORLDS


@dataclass(frozen=True)
class WorldDescription:
    """An environment in a world: facts, and how well it agrees with likes that were held out."""

    facts: EnvironmentFacts
    agreement: Agreement

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what a person should know, as names and texts."""
        yield from self.facts.lines()
        for name, ours, popular in (
            ("AUC", self.agreement.auc, self.agreement.popularity_auc),
            (
                "Precision of ten items",
                self.agreement.precision,
                self.agreement.popularity_precision,
            ),
        ):
            yield (
                f"{name} for held-out likes (popularity alone)",
                f"{_text(ours)} ({_text(popular)})",
            )

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        facts = {n: v if v == v else None for n, v in asdict(self.facts).items()}
        means = {
            name: value.mean if isinstance(value, Estimate) else value
            for name, value in vars(self.agreement).items()
        }
        return facts | {"agreement": means}


def describe_worlds(
    ratings: Ratings,
    threshold: Threshold = None,
    progress: Callable[[str, float], None] | None = None,
) -> tuple[dict[str, WorldDescription], str]:
    """Return a description for each world, or why there is none."""
    found = {}
    for place, world in enumerate(WORLDS):
        if progress is not None:
            progress(f"in world {world!r}", place / len(WORLDS))
        try:
            env = Environment.from_ratings(ratings, threshold=threshold, world=world)
            agrees = agreement(ratings, threshold=threshold, world=world)
        except ValueError as error:
            return {}, str(error)
        found[world] = WorldDescription(env.facts, agrees)
    return found, ""


def _text(value: Estimate) -> str:
    return f"{value.mean:.3f}"
