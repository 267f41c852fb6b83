"""The results of a spec as far as they are there: by environment, policy and seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.experiment.cell import Cell, environment_name
from faircascade.experiment.environment_options import flat_options
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import FinishedCell, Results
from faircascade.policies import Policy
from faircascade.types import Floats


@dataclass(frozen=True, eq=False)
class EnvironmentResults:
    """Cells that share an environment, but for the seed."""

    data: dict[str, Any]
    """Name and options of the ratings."""
    given: dict[str, Any]
    """Options of the environment, as the spec gave them."""
    runs: dict[str, tuple[FinishedCell, ...]]
    """By policy, in the order of the spec: one for each seed that is finished; may be empty."""
    policies: dict[str, Policy]
    baseline: str
    """What changes are measured against."""

    @property
    def name(self) -> str:
        """Return the data and the options that the spec gave, in one line."""
        return environment_name(self.data, self.given)

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the environment, those not given included."""
        return flat_options(self.given)

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
        """Return a metric of a policy, one value a seed, at the end or at a checkpoint."""
        return np.array([run.value(metric, rounds) for run in self.runs[label]])

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


@dataclass(frozen=True, eq=False)
class Study:
    """A spec, the cells it asks for, and which of them are finished."""

    spec: Spec
    cells: tuple[Cell, ...]
    results: Results

    @cached_property
    def environments(self) -> tuple[EnvironmentResults, ...]:
        """The environments of the spec, in its order."""
        by_environment: dict[str, dict[str, list[FinishedCell]]] = {}
        policies: dict[str, Policy] = {}
        for cell in self.cells:
            runs = by_environment.setdefault(cell.environment_id, {}).setdefault(cell.label, [])
            policies[cell.label] = cell.policy
            finished = self.results.find(cell)
            if finished is not None:
                runs.append(finished)
        return tuple(
            EnvironmentResults(
                **json.loads(environment),
                runs={label: tuple(found) for label, found in runs.items()},
                policies=policies,
                baseline=self.spec.baseline or next(iter(runs)),
            )
            for environment, runs in by_environment.items()
        )

    @cached_property
    def matched(self) -> tuple[EnvironmentResults, ...]:
        """The environments with only the seeds that all their policies share."""
        return tuple(environment.common() for environment in self.environments)

    def against(self, baseline: str | None) -> Study:
        """Return the study with another policy as the baseline."""
        if baseline is None or not self.cells:
            return self
        return Study(self.spec.changed(baseline=baseline), self.cells, self.results)

    def again(self) -> Study:
        """Return the study as it stands now."""
        return Study(self.spec, self.cells, Results(self.results.folder))

    @property
    def missing(self) -> int:
        """How many cells are not finished."""
        return sum(self.results.find(cell) is None for cell in self.cells)


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
