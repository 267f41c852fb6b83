"""What tables, figures and statistics read: runs by environment, policy and seed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.engine import HEADLINE
from faircascade.experiment.cell import environment_name
from faircascade.experiment.cell_result import CellResult
from faircascade.experiment.stats import estimate
from faircascade.experiment.yardsticks import mean_yardsticks
from faircascade.metrics import Over, higher_is_better
from faircascade.metrics.base import GROUP
from faircascade.metrics.exposure import FAIRNESS
from faircascade.policies import Policy
from faircascade.types import Floats

SHOW = (
    *("answer", "table", "pareto", "curves", "exploration", "exposure", "items", "groups"),
    *("others", "statistics", "environment", "setup"),
)
"""Sections that a page has unless a spec names others; what cannot be drawn is left out."""


@dataclass(frozen=True, eq=False)
class EnvironmentResults:
    """Runs that share an environment, but for the seed."""

    data: dict[str, Any]
    """Name and options of the ratings."""
    given: dict[str, Any]
    """Options of the environment, as far as they were given."""
    options: dict[str, Any]
    """Options of the environment by their dotted names; `dim` and `k` are always there."""
    runs: dict[str, tuple[CellResult, ...]]
    """By policy, in the order given: one for each seed that is finished; may be empty."""
    policies: dict[str, Policy]
    baseline: str
    """What changes are measured against."""

    @property
    def name(self) -> str:
        """Return the data and the options that were given, in one line."""
        return environment_name(self.data, self.given)

    @property
    def finished(self) -> list[str]:
        """The policies with at least one finished seed."""
        return [label for label, runs in self.runs.items() if runs]

    @property
    def longest(self) -> int:
        """The rounds of the policy that ran longest; 0 if none has."""
        return max(map(self.rounds, self.runs), default=0)

    @property
    def comparable(self) -> list[str]:
        """The finished policies that ran longest: others cannot be set beside them."""
        return [label for label in self.finished if self.rounds(label) == self.longest]

    def over(self, over: Over) -> EnvironmentResults:
        """Return the environment with the metrics of items over some of them."""
        measured = {label: tuple(r.over(over) for r in runs) for label, runs in self.runs.items()}
        return replace(self, runs=measured)

    @property
    def sizes(self) -> tuple[tuple[int, int | None], ...]:
        """How many items there are and how many are eligible (None: not kept), by environment."""
        runs = (run for found in self.runs.values() for run in found)
        return tuple(dict.fromkeys((int(run.about["items"]), run.eligible) for run in runs))

    @property
    def ineligible(self) -> float:
        """Share of the items that cannot be recommended, the largest over seeds; 0 if not known."""
        shares = [1 - eligible / items for items, eligible in self.sizes if eligible is not None]
        return max(shares, default=0.0)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The item columns with groups that all runs have."""
        runs = [run for found in self.runs.values() for run in found]
        first = runs[0].groups if runs else ()
        return tuple(column for column in first if all(column in run.groups for run in runs))

    @property
    def yardsticks(self) -> dict[str, dict[str, float]]:
        """Metrics of the optimal and of random slates, mean over seeds, unless policies are these.

        None where the environment changes, or of runs that older releases kept.
        """
        labels = self.comparable
        runs = self.runs[labels[0]] if labels else ()
        ran = [self.policies[label] for label in self.finished]
        return mean_yardsticks([run.about.get("yardsticks", {}) for run in runs], ran)

    def common(self, labels: Iterable[str] | None = None) -> EnvironmentResults:
        """Return the environment with only the seeds that policies share, as far as they have any.

        Means over other seeds are means over other users, and cannot be set side by side.
        """
        chosen = [self.runs[label] for label in (self.runs if labels is None else labels)]
        sets = [{run.seed for run in runs} for runs in chosen if runs]
        seeds = set.intersection(*sets) if sets else set()
        runs = {
            label: tuple(run for run in found if run.seed in seeds)
            for label, found in self.runs.items()
        }
        return replace(self, runs=runs if seeds else self.runs)

    def seeds(self, label: str) -> tuple[int, ...]:
        """Return the seeds that are finished for a policy."""
        return tuple(run.seed for run in self.runs[label])

    def rounds(self, label: str) -> int:
        """Return how long a policy ran; 0 if it has not."""
        return min((run.rounds for run in self.runs[label]), default=0)

    def values(self, label: str, metric: str, rounds: int | None = None) -> Floats:
        """Return a metric of a policy, one value for each seed, at the end or at a checkpoint."""
        return np.array([run.value(metric, rounds) for run in self.runs[label]])

    def best(self, metric: str) -> list[str]:
        """Return who has the best mean of those that ran longest; nobody if there is no choice."""
        labels, sign = self.comparable, 1 if higher_is_better(metric) else -1
        means = {label: sign * estimate(self.values(label, metric)).mean for label in labels}
        known = {label: mean for label, mean in means.items() if not math.isnan(mean)}
        if len(known) < 2:
            return []
        return [label for label, mean in known.items() if mean == max(known.values())]

    def paired(self, label: str, metric: str, against: str | None = None) -> tuple[Floats, Floats]:
        """Return a metric of a policy and of another (the baseline) for the seeds both have.

        If the other ran longer, it is taken as it stood when the policy ended. Runs in
        environments that are not the same (code that builds them may have changed) are no pair.
        """
        other = self.baseline if against is None else against
        rounds = min(self.rounds(label), self.rounds(other)) or None
        own = {run.seed: run for run in self.runs[label]}
        their = {run.seed: run for run in self.runs[other]}
        seeds = [seed for seed in own if seed in their and own[seed].is_paired(their[seed])]
        return (
            np.array([own[seed].value(metric, rounds) for seed in seeds]),
            np.array([their[seed].value(metric, rounds) for seed in seeds]),
        )


class StudyResults(ABC):
    """Policies in one or more environments, over seeds, as far as they have been run.

    A study on disk and a comparison in memory are such: reports ask for no more than this.
    """

    interrupted: bool = False
    """True if it was stopped, and nobody knows what else was to be run."""
    over: Over = "catalogue"
    """Which items the metrics of items are taken over."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in tables and addresses."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What its page is called."""

    @property
    def about(self) -> str:
        """What it is for, in a sentence or two."""
        return ""

    @property
    def show(self) -> tuple[str, ...]:
        """Sections of its page, by name."""
        return SHOW

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of its tables and figures; runs have all the others, too."""
        return HEADLINE

    @property
    @abstractmethod
    def seeds(self) -> tuple[int, ...]:
        """The seeds asked for."""

    @property
    @abstractmethod
    def lines(self) -> Sequence[tuple[str, Policy, int]]:
        """Label, policy and rounds of every policy that was asked for."""

    @property
    @abstractmethod
    def first_options(self) -> Mapping[str, Any]:
        """Options of the first environment, whether or not anything is to be run there."""

    @property
    @abstractmethod
    def keys(self) -> frozenset[str]:
        """What was to be run: a key for each run, the same for the same run of another study."""

    @abstractmethod
    def measured(self, over: Over) -> StudyResults:
        """Return the same results with the metrics of items over all, or the eligible ones."""

    @cached_property
    @abstractmethod
    def environments(self) -> tuple[EnvironmentResults, ...]:
        """The environments, in the order given."""

    @cached_property
    def matched(self) -> tuple[EnvironmentResults, ...]:
        """The environments with only the seeds that all their policies share."""
        return tuple(environment.common() for environment in self.environments)

    @cached_property
    def longest(self) -> int:
        """The rounds of the policy that was to run longest; 0 if nothing was to be run."""
        return max(rounds for _, _, rounds in self.lines)

    @property
    def runs(self) -> dict[str, CellResult]:
        """Every finished run by its key."""
        found = [run for e in self.environments for runs in e.runs.values() for run in runs]
        return {run.key: run for run in found}

    @property
    def missing(self) -> int:
        """How many runs are not finished."""
        return len(self.keys) - len(self.runs)


def items_words(environments: Iterable[EnvironmentResults], over: Over) -> str:
    """Say which items fairness is taken over, how many there are, and how many are eligible."""
    sizes = sorted({size for environment in environments for size in environment.sizes})
    if not sizes:
        return ""
    items, eligible = ([size[place] for size in sizes] for place in (0, 1))
    if over == "eligible":
        some, all_ = _span(eligible), _span(items)
        return f"Fairness over the {some} eligible items of {all_}; the others are never shown."
    words = f"Fairness over all {_span(items)} items"
    if None in eligible:
        return f"{words}."
    if items == eligible:
        return f"{words}; all of them are eligible."
    return f"{words}; {_span(eligible)} of them are eligible, the others are never shown."


def _span(values: Iterable[int | None]) -> str:
    """Return one number, or the least and the greatest."""
    known = sorted({value for value in values if value is not None})
    return " to ".join(f"{value:,}" for value in dict.fromkeys((known[0], known[-1])))


def group_metrics(column: str) -> tuple[str, ...]:
    """Return the names of the fairness metrics over the groups of an item column."""
    return tuple(f"{GROUP}{column}.{metric}" for metric in FAIRNESS)


def pairs(
    environments: Sequence[EnvironmentResults], metrics: Sequence[str]
) -> dict[tuple[int, str, str], tuple[Floats, Floats]]:
    """Return what is compared: each policy with its baseline, by environment and metric."""
    return {
        (place, label, metric): environment.paired(label, metric)
        for place, environment in enumerate(environments)
        for label in environment.runs
        for metric in metrics
        if label != environment.baseline
        and environment.runs[label]
        and environment.runs[environment.baseline]
    }
