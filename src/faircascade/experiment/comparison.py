"""compare(): several policies, the same users, the same draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from faircascade.engine import HEADLINE, Result, simulate
from faircascade.engine.result import item_metrics
from faircascade.environment import Environment
from faircascade.environment.environment import unusual_parts
from faircascade.errors import ParameterError, UnknownParameterError, check_choice
from faircascade.experiment.cell import environment_name
from faircascade.experiment.cell_result import CellOutput, eligible_only
from faircascade.experiment.comparison_inputs import (
    distinct_labels,
    environment_source,
    policies_of,
    seeds_of,
)
from faircascade.experiment.environment_options import environment_options
from faircascade.experiment.machine import platform_versions
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.experiment.yardsticks import mean_yardsticks, yardsticks
from faircascade.metrics import Over
from faircascade.metrics.tally import check_over
from faircascade.parameters import checked_arguments, parameters_of_function
from faircascade.policies import Policy
from faircascade.progress import Report, progress_if_watched
from faircascade.registry import lookup
from faircascade.types import Floats, whole

POLICIES = ("linucb", "linucb(alpha=0.0625)", "ealinucb", "most-popular")
"""What is compared unless policies are named: clicks alone, clicks and exposure, two yardsticks."""
_OWN = ("rounds", "seeds", "progress")
_OF_ONE_RUN = ("seed", "trace", "propensities", "propensity_draws", "snapshot", "keep_snapshot")


@dataclass(frozen=True, eq=False)
class Comparison(StudyResults):
    """Results of several policies in one environment, paired by seed."""

    results: Mapping[str, tuple[Result, ...]]
    """By label, in the order given; one result for each seed."""
    interrupted: bool = False
    """True if it was stopped before every policy and seed had run to the end."""
    over: Over = "catalogue"

    @classmethod
    def of(cls, result: Result) -> Comparison:
        """Return a comparison of one policy with nothing, which is reported like any other."""
        return cls({result.policy.label: (result,)}, interrupted=result.interrupted)

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
        parts = environment_name({}, unusual_parts(self.env.part_specs))
        named = filter(None, (str(self.env.info.get("data", "unnamed data")), parts))
        return f"Clicks and fair exposure: {', '.join(named)}"

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
        sizes = {"dim": env.items.dim, "k": env.k, "users": len(env.users)}
        parts = unusual_parts(env.part_specs)
        return (
            EnvironmentResults(
                data={"name": str(env.info.get("data", "unnamed data"))},
                given=dict(parts),
                options=known | sizes | parts,
                runs={
                    label: tuple(CellOutput.alone(result, label) for result in runs)
                    for label, runs in self.results.items()
                },
                policies={label: runs[0].policy for label, runs in self.results.items()},
                baseline=self.baseline,
            ).over(self.over),
        )

    def measured(self, over: Over) -> Comparison:
        check_over(over)
        return replace(self, over=over)

    def values(self, label: str, metric: str, *, over: Over | None = None) -> Floats:
        """Return one metric of one policy, one value for each seed, over all or eligible items."""
        check_choice("label", label, self.labels)
        lookup("metric", metric)
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
        self, metrics: str | Iterable[str] = HEADLINE, *, over: Over | None = None
    ) -> list[dict[str, Any]]:
        """Return one row for each policy: means over seeds and `<metric>_change` in percent.

        `over="eligible"` takes metrics of items over those that can be recommended.
        """
        if isinstance(metrics, str) or not isinstance(metrics, Iterable):
            metrics = [metrics]
        chosen, rows = tuple(metrics), []
        for label in self.labels:
            row: dict[str, Any] = {"policy": label}
            for metric in chosen:
                row[metric] = self.mean(label, metric, over=over)
                row[f"{metric}_change"] = self.change(label, metric, over=over)
            rows.append(row)
        return rows

    def document(self) -> dict[str, Any]:
        """Return the comparison as one plain document; items are counted seed by seed."""
        environments = [result.env for result in self.results[self.baseline]]
        return {
            **platform_versions(),
            "baseline": self.baseline,
            "rounds": self.rounds,
            "seeds": list(self.seeds),
            "interrupted": self.interrupted,
            "items": [len(env.items) for env in environments],
            "eligible": [int(env.items.eligible.sum()) for env in environments],
            "over": self.over,
            "yardsticks": self.yardsticks,
            "table": [
                {name: None if value != value else value for name, value in row.items()}
                for row in self.table()
            ],
            "runs": [run.summary(over=self.over) for runs in self.results.values() for run in runs],
        }

    def __str__(self) -> str:
        named = {f"({name} slates)": of for name, of in self.yardsticks.items()}
        width = max(len(label) for label in (*self.labels, *named))
        rows = {label: {m: self.mean(label, m) for m in HEADLINE} for label in self.labels} | named
        lines = [" " * width + "".join(f"{metric:>13}" for metric in HEADLINE)]
        for label, of in rows.items():
            values = (of.get(metric, math.nan) for metric in HEADLINE)
            cells = ("–" if math.isnan(value) else f"{value:.4f}" for value in values)
            lines.append(f"{label:<{width}}" + "".join(f"{cell:>13}" for cell in cells))
        return "\n".join(lines)

    @property
    def yardsticks(self) -> dict[str, dict[str, float]]:
        """Metrics of optimal and of random slates, unless a policy is that; by name."""
        found = [yardsticks(result) for result in self.results[self.baseline]]
        if self.over == "eligible":
            found = [{name: eligible_only(of) for name, of in each.items()} for each in found]
        return mean_yardsticks(found, [policy for _, policy, _ in self.lines])


@checked_arguments
def compare(
    env: Any,
    policies: Policy | str | Iterable[Policy | str] = POLICIES,
    *,
    rounds: int = 1000,
    seeds: int | Sequence[int] = 1,
    progress: bool | Report | None = True,
    **options: Any,
) -> Comparison:
    """Simulate every policy with every seed; the first policy is the baseline.

    Args:
        env: An `Environment` for all seeds; or a function of the seed that makes one, so that
            splits vary; or ratings, a DataFrame, a file or a data set's name, of which
            `Environment.from_ratings` makes one for each seed.
        policies: One or several, each an object such as `LinUCB()` or a name such as "linucb" or
            "ealinucb(weight=rbp)".
        rounds: How often every user is served.
        seeds: How many (1, 2, ...) or which.
        progress: True shows it on a terminal and in a notebook, False does not; or a function of
            the policy that runs and the share of the whole that is done.
        options: Of `simulate`, for every run: `engine`, `threads`, `checkpoints`, ...

    Ctrl-C ends it with what was finished by then, and `interrupted` set.
    """
    for name in options:
        if name not in _options():
            raise UnknownParameterError(name, "compare()", (*_OWN, *_options()))
    chosen = policies_of(policies)
    labels = distinct_labels(chosen)
    if whole(rounds, "rounds") < 1:
        raise ParameterError("rounds", "must be at least 1", rounds)
    which, environment = seeds_of(seeds), environment_source(env)
    with _reporting(progress) as report:
        lines = dict(zip(labels, chosen, strict=True))
        return _run(environment, lines, which, rounds, report, options)


def _run(
    environment: Callable[[int], Environment],
    policies: Mapping[str, Policy],
    seeds: Sequence[int],
    rounds: int,
    progress: Report | None,
    options: Mapping[str, Any],
) -> Comparison:
    results: dict[str, list[Result]] = {label: [] for label in policies}
    total, done = len(policies) * len(seeds), 0
    interrupted = False
    try:
        for seed in seeds:
            env = environment(seed)
            for label, policy in policies.items():
                report = part_of(progress, label, done / total, 1 / total)
                result = simulate(env, policy, rounds=rounds, seed=seed, progress=report, **options)
                results[label].append(result)
                done += result.rounds == rounds
                if result.interrupted:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not any(results.values()):
            raise
        interrupted = done < total
    return _comparable(results, rounds, interrupted)


@cache
def _options() -> tuple[str, ...]:
    """Return the options of `simulate` that hold for several runs alike: no files."""
    names = (parameter.name for parameter in parameters_of_function(simulate))
    return tuple(name for name in names if name not in (*_OWN, *_OF_ONE_RUN))


def _reporting(progress: Any) -> AbstractContextManager[Report | None]:
    """Return what is to be told of progress, and how."""
    if progress is True:
        return progress_if_watched("Comparing")
    if progress is None or progress is False:
        return nullcontext()
    if not callable(progress):
        raise ParameterError("progress", "must be True, False or a function", progress)
    return nullcontext(progress)


def part_of(
    progress: Report | None, label: str, begin: float, size: float
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
