"""Every published number, and what ours says to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.experiment.stats import Estimate, estimate
from faircascade.experiment.study import Study, World
from faircascade.paper.published import BASELINE, METRICS, Row, published, row_of
from faircascade.paper.verdict import Verdict, judge
from faircascade.report.study.words import NOT_RUN, listed

SYMBOLS = {
    "matches": "✓",
    "same direction": "≈",
    "differs": "✗",
    "cannot be compared": "○",
    NOT_RUN: "…",
}
"""What a published number can come to, each with a sign of its own."""


@dataclass(frozen=True)
class Held:
    """A published number, and the policy of ours that is held against it."""

    row: Row
    metric: str
    published: float
    world: World
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


def held(study: Study) -> Iterator[Held]:
    """Yield every published number that a policy of a study is held against.

    World by world, in the order of the paper's rows; where several policies are versions of one
    row, its numbers come once for each.
    """
    for world in study.worlds:
        for row in published():
            for label in labels_of(world, row):
                for metric in METRICS:
                    yield _hold(row, metric, world, label)


def labels_of(world: World, row: Row) -> list[str]:
    """Return the policies that are versions of a published row."""
    return [label for label in world.runs if published_row(world, label) == row]


def published_row(world: World, label: str) -> Row | None:
    """Return the published row that a policy is held against."""
    return row_of(world.policies[label], str(world.data["name"]), *_size(world))


def count(numbers: Iterable[Held]) -> dict[str, int]:
    """Return how many came to what; every outcome is there."""
    found = Counter(number.outcome for number in numbers)
    return {outcome: found[outcome] for outcome in SYMBOLS}


def count_verdicts(studies: Iterable[Study]) -> dict[str, int]:
    """Return how many published numbers came to what; nothing where no study shows any."""
    numbers = [n for study in studies for n in shown(study)]
    return count(numbers) if numbers else {}


def shown(study: Study) -> list[Held]:
    """Return the published numbers that a study shows: none unless its spec asks for them."""
    return list(held(study)) if "published" in study.spec.show else []


def summary(numbers: Sequence[Held]) -> str:
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


def _hold(row: Row, metric: str, world: World, label: str) -> Held:
    theirs = published()[row][metric]
    if not world.runs[label]:
        return Held(row, metric, theirs, world, label, estimate(np.empty(0)), 0, None)
    ours, rounds = estimate(world.values(label, metric)), world.rounds(label)
    verdict = _judge(world, label, row, metric, ours)
    return Held(row, metric, theirs, world, label, ours, rounds, verdict)


def _judge(world: World, label: str, row: Row, metric: str, ours: Estimate) -> Verdict:
    """Judge a number; without our own LinUCB beside it there is no direction to speak of."""
    if math.isnan(ours.mean):
        return Verdict("cannot be compared", "the metric has no value")
    change = 0.0 if row.method == BASELINE else _change(world, label, row, metric)
    if change is None:
        return Verdict("cannot be compared", f"{BASELINE} has not been run for as many rounds")
    return judge(
        row,
        metric,
        ours,
        change,
        policy=world.policies[label],
        data=str(world.data["name"]),
        options=world.options,
        rounds=world.rounds(label),
    )


def _change(world: World, label: str, row: Row, metric: str) -> float | None:
    """Return the change against our LinUCB after as many rounds, as a share of it.

    Over the seeds that both have; of the same reading, if there are several.
    """
    reading = getattr(world.policies[label], "reading", None)
    found = labels_of(world, row._replace(method=BASELINE, weight=""))
    found.sort(key=lambda other: getattr(world.policies[other], "reading", None) != reading)
    for other in found:
        if world.rounds(other) >= world.rounds(label):
            own, before = world.paired(label, metric, other)
            if len(own) and before.mean():
                return float(own.mean() / before.mean() - 1.0)
    return None


def _size(world: World) -> tuple[int, int]:
    return int(world.options["dim"]), int(world.options["k"])
