"""compare(): several policies, the same users, the same draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from faircascade.engine import HEADLINE, Result, simulate
from faircascade.engine.result import item_metrics
from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.experiment.cell_result import CellOutput, eligible_only
from faircascade.experiment.environment_options import environment_options
from faircascade.experiment.machine import platform_versions
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.experiment.yardsticks import mean_yardsticks, yardsticks
from faircascade.metrics import Over
from faircascade.metrics.tally import check_over
from faircascade.policies import Policy
from faircascade.registry import flat_spec
from faircascade.types import Floats, whole

EnvironmentSource = Environment | Callable[[int], Environment]
"""One environment for all seeds, or a function that makes one from a seed (splits vary too)."""
Progress = Callable[[str, float], None]
"""Called with the policy that runs and the share of the whole comparison that is done."""


@dataclass(frozen=True, eq=False)
class Comparison(StudyResults):
    """Results of several policies in one environment, paired by seed."""

    results: Mapping[str, tuple[Result, ...]]
    """By label, in the order given; one result for each seed."""
    interrupted: bool = False
    """True if it was stopped before every policy and seed had run to the end."""
    over: Over = "catalogue"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.results)

    @property
    def baseline(self) -> str:
        """What changes are measured against: the first policy."""
        return self.labels[0]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(result.seed for result in self.results[self.baseline])

    @property
    def env(self) -> Environment:
        """The environment of the first seed."""
        return self.results[self.baseline][0].env

    @property
    def rounds(self) -> int:
        """Rounds that every run finished."""
        return min(result.rounds for runs in self.results.values() for result in runs)

    @property
    def name(self) -> str:
        return "comparison"

    @property
    def title(self) -> str:
        return f"Clicks and fair exposure: {self.env.info.get('data', 'unnamed data')}"

    @property
    def lines(self) -> Sequence[tuple[str, Policy, int]]:
        return [
            (label, runs[0].policy, max(run.rounds for run in runs))
            for label, runs in self.results.items()
        ]

    @property
    def first_options(self) -> Mapping[str, Any]:
        return self.environments[0].options

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(self.runs)

    @cached_property
    def environments(self) -> tuple[EnvironmentResults, ...]:
        """The environment with what is kept of every result."""
        env = self.env
        known = {n: v for n, v in env.info.items() if n in environment_options()}
        given = {"dim": env.items.dim, "k": env.k, "users": len(env.users)}
        return (
            EnvironmentResults(
                data={"name": str(env.info.get("data", "unnamed data"))},
                given={},
                options=known | given,
                runs={
                    label: tuple(CellOutput.alone(result, label) for result in runs)
                    for label, runs in self.results.items()
                },
                policies={label: runs[0].policy for label, runs in self.results.items()},
                baseline=self.baseline,
            ).over(self.over),
        )

    def measured(self, over: Over) -> Comparison:
        return replace(self, over=over)

    def values(self, label: str, metric: str, *, over: Over | None = None) -> Floats:
        """Return one metric of one policy, one value for each seed, over all or eligible items."""
        runs, over = self.results[label], over or self.over
        check_over(over)
        if over == "eligible" and metric in (eligible := item_metrics(over)):
            return np.array([run.measure(eligible[metric]) for run in runs])
        return np.array([run.metrics[metric] for run in runs])

    def mean(self, label: str, metric: str, *, over: Over | None = None) -> float:
        """Return the mean over seeds."""
        values = self.values(label, metric, over=over)
        return math.fsum(values) / len(values)

    def change(self, label: str, metric: str, *, over: Over | None = None) -> float:
        """Return the change of the mean against the baseline in percent."""
        before = self.mean(self.baseline, metric, over=over)
        if before == 0:
            return float("nan")
        return 100.0 * (self.mean(label, metric, over=over) - before) / abs(before)

    def table(
        self, metrics: Iterable[str] = HEADLINE, *, over: Over | None = None
    ) -> list[dict[str, Any]]:
        """Return one row for each policy: means over seeds and `<metric>_change` in percent.

        `over="eligible"` takes metrics of items over those that can be recommended.
        """
        chosen, rows = tuple(metrics), []
        for label in self.labels:
            row: dict[str, Any] = {"policy": label}
            for metric in chosen:
                row[metric] = self.mean(label, metric, over=over)
                row[f"{metric}_change"] = self.change(label, metric, over=over)
            rows.append(row)
        return rows

    def document(self) -> dict[str, Any]:
        """Return the comparison as one plain document."""
        return {
            **platform_versions(),
            "baseline": self.baseline,
            "rounds": self.rounds,
            "seeds": list(self.seeds),
            "interrupted": self.interrupted,
            "items": len(self.env.items),
            "eligible": int(self.env.items.eligible.sum()),
            "yardsticks": self.yardsticks,
            "table": [
                {name: None if value != value else value for name, value in row.items()}
                for row in self.table()
            ],
            "runs": [result.summary() for runs in self.results.values() for result in runs],
        }

    def __str__(self) -> str:
        named = {f"({name} slates)": of for name, of in self.yardsticks.items()}
        width = max(len(label) for label in (*self.labels, *named))
        lines = [" " * width + "".join(f"{metric:>13}" for metric in HEADLINE)]
        for label in self.labels:
            values = "".join(f"{self.mean(label, metric):>13.4f}" for metric in HEADLINE)
            lines.append(f"{label:<{width}}{values}")
        for name, of in named.items():
            values = "".join(f"{of.get(metric, math.nan):>13.4f}" for metric in HEADLINE)
            lines.append(f"{name:<{width}}{values}")
        return "\n".join(lines)

    @property
    def yardsticks(self) -> dict[str, dict[str, float]]:
        """Metrics of optimal and of random slates, unless a policy is that; by name."""
        found = [yardsticks(result) for result in self.results[self.baseline]]
        if self.over == "eligible":
            found = [{name: eligible_only(of) for name, of in each.items()} for each in found]
        return mean_yardsticks(found, [policy for _, policy, _ in self.lines])


def compare(
    env: EnvironmentSource,
    policies: Policy | Sequence[Policy],
    *,
    rounds: int,
    seeds: int | Sequence[int] = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Simulate every policy with every seed; the first policy is the baseline.

    `seeds` is how many (1, 2, ...) or which. With an environment the split is the same for every
    seed; with a function `seed -> Environment` splits vary with the seed. Other options go to
    `simulate`. Ctrl-C ends it with what was finished by then, and `interrupted` set.
    """
    if isinstance(policies, Policy):
        policies = [policies]
    if not policies:
        raise ParameterError("policies", "must be at least one", policies)
    for policy in policies:
        if not isinstance(policy, Policy):
            raise ParameterError("policies", "must be policies such as LinUCB()", policy)
    chosen = seeds_of(seeds)
    labels = distinct_labels(policies)
    results: dict[str, list[Result]] = {label: [] for label in labels}
    total, done = len(labels) * len(chosen), 0
    interrupted = False
    try:
        for seed in chosen:
            environment = env if isinstance(env, Environment) else env(seed)
            for label, policy in zip(labels, policies, strict=True):
                report = part_of(progress, label, done / total, 1 / total)
                result = simulate(
                    environment, policy, rounds=rounds, seed=seed, progress=report, **options
                )
                results[label].append(result)
                done += result.rounds == rounds
                if result.interrupted:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not any(results.values()):
            raise
        interrupted = done < total
    return _comparable(results, rounds, interrupted)


def distinct_labels(policies: Sequence[Policy]) -> list[str]:
    """Return a label for each policy; equal ones are told apart by the parameters that differ."""
    labels = [policy.label for policy in policies]
    for label in {label for label in labels if labels.count(label) > 1}:
        alike = [i for i, other in enumerate(labels) if other == label]
        specs = {i: flat_spec(policies[i]) for i in alike}
        names = dict.fromkeys(name for spec in specs.values() for name in spec)
        differ = [n for n in names if len({repr(spec.get(n)) for spec in specs.values()}) > 1]
        for i in alike:
            values = ", ".join(f"{n.split('.')[-1]}={specs[i][n]}" for n in differ if n in specs[i])
            labels[i] = f"{label} ({values})" if values else label
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ParameterError("policies", "must be distinct", twice)
    return labels


def seeds_of(given: int | Sequence[int]) -> tuple[int, ...]:
    """Return seeds: 1, 2, ... for a number of them, or those that were given."""
    if isinstance(given, str):
        raise ParameterError("seeds", "must be a number or a list of seeds", given)
    which = range(1, int(given) + 1) if isinstance(given, Integral) else given
    seeds = tuple(whole(seed, "seeds") for seed in which)  # type: ignore[union-attr]
    if any(seed < 0 for seed in seeds):
        raise ParameterError("seeds", "must be at least 0", given)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ParameterError("seeds", "must be at least one and distinct", given)
    return seeds


def part_of(
    progress: Progress | None, label: str, begin: float, size: float
) -> Callable[[float], None] | None:
    """Return the progress of a part: where it begins and how large it is, as shares of all."""
    if progress is None:
        return None
    return lambda share: progress(label, begin + share * size)


def _comparable(results: Mapping[str, list[Result]], rounds: int, interrupted: bool) -> Comparison:
    """Keep what can be compared: runs that were finished, of seeds that all of them share.

    If not even one was, the only run there is stays as far as it went.
    """
    finished = {
        label: [run for run in runs if run.rounds == rounds] for label, runs in results.items()
    }
    seeds = min(len(runs) for runs in finished.values())
    kept = {label: tuple(runs[: max(seeds, 1)]) for label, runs in finished.items() if runs}
    if not kept:
        kept = {label: tuple(runs) for label, runs in results.items() if runs}
    return Comparison(kept, interrupted)
