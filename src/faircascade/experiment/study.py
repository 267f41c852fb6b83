"""The results of a spec as far as they are there: by environment, policy and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from faircascade.experiment.cell import Cell
from faircascade.experiment.environment_options import flat_options
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import FinishedCell, Results
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics import Over
from faircascade.metrics.tally import check_over
from faircascade.policies import Policy


@dataclass(frozen=True, eq=False)
class Study(StudyResults):
    """A spec, the cells it asks for, and which of them are finished."""

    spec: Spec
    cells: tuple[Cell, ...]
    results: Results
    over: Over = "catalogue"

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def title(self) -> str:
        return self.spec.title

    @property
    def about(self) -> str:
        return self.spec.about

    @property
    def show(self) -> tuple[str, ...]:
        return self.spec.show

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.spec.metrics

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.spec.seeds

    @property
    def lines(self) -> Sequence[tuple[str, Policy, int]]:
        return self.spec.lines()

    @property
    def first_options(self) -> Mapping[str, Any]:
        return flat_options(self.spec.environments()[0])

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(cell.key for cell in self.cells)

    @cached_property
    def environments(self) -> tuple[EnvironmentResults, ...]:
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
                **(asked := json.loads(environment)),
                options=flat_options(asked["given"]),
                runs={label: tuple(found) for label, found in runs.items()},
                policies=policies,
                baseline=self.spec.baseline or next(iter(runs)),
            ).over(self.over)
            for environment, runs in by_environment.items()
        )

    def against(self, baseline: str | None) -> Study:
        """Return the study with another policy as the baseline."""
        if baseline is None or not self.cells:
            return self
        return replace(self, spec=self.spec.changed(baseline=baseline))

    def measured(self, over: Over) -> Study:
        check_over(over)
        return replace(self, over=over)

    def again(self) -> Study:
        """Return the study as it stands now."""
        return replace(self, results=Results(self.results.folder))
