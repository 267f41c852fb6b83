"""Every published number, and what ours says to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.experiment.stats import Estimate, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.paper.published import BASELINE, METRICS, PublishedRow, published, row_of
from faircascade.paper.verdict import Verdict, judge
from faircascade.report.formatting import NOT_RUN, listed

SYMBOLS = {
    "matches": "✓",
    "same direction": "≈",
    "differs": "✗",
    "cannot be compared": "○",
    NOT_RUN: "…",
}
"""What a published number can come to, each with a sign of its own."""


@dataclass(frozen=True)
class PublishedComparison:
    """A published number, and the policy of ours that is held against it."""

    row: PublishedRow
    metric: str
    published: float
    environment: EnvironmentResults
    label: str
    """Of our policy."""
    ours: Estimate
    rounds: int
    verdict: Verdict | None
    """None if there is nothing to judge yet."""

    @property
    def outcome(self) -> str:
        """One of `SYMBOLS`."""
        return NOT_RUN if self.verdict is None else self.verdict.kind

    @property
    def reason(self) -> str:
        return "no seed is finished" if self.verdict is None else self.verdict.reason

    @property
    def difference(self) -> float:
        return self.ours.mean - self.published

    @property
    def percent(self) -> float:
        return 100.0 * self.difference / self.published


def held(study: StudyResults) -> Iterator[PublishedComparison]:
    """Yield every published number that a policy of a study is held against.

    By environment, in the order of the paper's rows; where several policies are versions of one
    row, its numbers come once for each.
    """
    for environment in study.environments:
        for row in published():
            for label in labels_of(environment, row):
                for metric in METRICS:
                    yield _hold(row, metric, environment, label)


def labels_of(environment: EnvironmentResults, row: PublishedRow) -> list[str]:
    """Return the policies that are versions of a published row."""
    return [label for label in environment.runs if published_row(environment, label) == row]


def published_row(environment: EnvironmentResults, label: str) -> PublishedRow | None:
    """Return the published row that a policy is held against."""
    return row_of(environment.policies[label], str(environment.data["name"]), *_size(environment))


def count(numbers: Iterable[PublishedComparison]) -> dict[str, int]:
    """Return how many came to what; every outcome is there."""
    found = Counter(number.outcome for number in numbers)
    return {outcome: found[outcome] for outcome in SYMBOLS}


def count_verdicts(studies: Iterable[StudyResults]) -> dict[str, int]:
    """Return how many published numbers came to what; nothing where no study shows any."""
    numbers = [n for study in studies for n in shown(study)]
    return count(numbers) if numbers else {}


def shown(study: StudyResults) -> list[PublishedComparison]:
    """Return the published numbers that a study shows: none unless its spec asks for them."""
    return list(held(study)) if "published" in study.show else []


def summary(numbers: Sequence[PublishedComparison]) -> str:
    """Return the counts in words."""
    cells = {(n.row, n.metric) for n in numbers}
    counted = count(numbers)
    parts = [
        f"{counted['matches']:,} match",
        f"{counted['same direction']:,} go in the same direction",
        f"{counted['differs']:,} differ",
        f"{counted['cannot be compared']:,} cannot be compared",
        *([f"{counted[NOT_RUN]:,} are not run yet"] if counted[NOT_RUN] else []),
    ]
    return f"{len(numbers):,} comparisons with {len(cells):,} published numbers: {listed(parts)}."


def _hold(
    row: PublishedRow, metric: str, environment: EnvironmentResults, label: str
) -> PublishedComparison:
    theirs = published()[row][metric]
    if not environment.runs[label]:
        return PublishedComparison(
            row, metric, theirs, environment, label, estimate(np.empty(0)), 0, None
        )
    ours, rounds = estimate(environment.values(label, metric)), environment.rounds(label)
    verdict = _judge(environment, label, row, metric, ours)
    return PublishedComparison(row, metric, theirs, environment, label, ours, rounds, verdict)


def _judge(
    environment: EnvironmentResults, label: str, row: PublishedRow, metric: str, ours: Estimate
) -> Verdict:
    """Judge a number; without our own LinUCB beside it there is no direction to speak of."""
    if math.isnan(ours.mean):
        return Verdict("cannot be compared", "the metric has no value")
    change = 0.0 if row.method == BASELINE else _change(environment, label, row, metric)
    if change is None:
        return Verdict("cannot be compared", f"{BASELINE} has not been run for as many rounds")
    return judge(
        row,
        metric,
        ours,
        change,
        policy=environment.policies[label],
        data=str(environment.data["name"]),
        options=environment.options,
        rounds=environment.rounds(label),
    )


def _change(
    environment: EnvironmentResults, label: str, row: PublishedRow, metric: str
) -> float | None:
    """Return the change against our LinUCB after as many rounds, as a share of it.

    Over the seeds that both have; of the same reading, if there are several.
    """
    reading = getattr(environment.policies[label], "reading", None)
    found = labels_of(environment, row._replace(method=BASELINE, weight=""))
    found.sort(key=lambda other: getattr(environment.policies[other], "reading", None) != reading)
    for other in found:
        if environment.rounds(other) >= environment.rounds(label):
            own, before = environment.paired(label, metric, other)
            if len(own) and before.mean():
                return float(own.mean() / before.mean() - 1.0)
    return None


def _size(environment: EnvironmentResults) -> tuple[int, int]:
    return int(environment.options["dim"]), int(environment.options["k"])
