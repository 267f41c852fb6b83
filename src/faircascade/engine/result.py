"""What came out of a simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.metrics import ItemMetric, Metric, Over, Record, Tally
from faircascade.metrics.base import ELIGIBLE
from faircascade.metrics.tally import UNIT, check_over
from faircascade.policies import Policy
from faircascade.registry import as_component, build, components, suggest, to_spec
from faircascade.types import Floats, Ints

HEADLINE = ("clicks", "regret", "equality_b", "equality_p", "equity_b", "equity_p")
"""The metrics of the paper's tables, in their order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """One policy in one environment. Every metric is an attribute, as in `result.equality_b`."""

    env: Environment
    policy: Policy
    tally: Tally
    state: Any
    """The policy's final state: `Ranker.from_result` takes it online."""
    seed: int
    engine: str
    engine_reason: str
    """Why this engine was used."""
    seconds: float
    """What the run took; with a snapshot, all attempts together."""
    interrupted: bool
    """True if Ctrl-C ended the run."""
    realised: bool
    """True if realised regret was counted."""
    activity: float = 1.0
    """Probability that a user came in a round."""
    precision: str = "float64"
    """Of what the policy computed."""

    @property
    def rounds(self) -> int:
        """Rounds that all users finished."""
        return int(self.tally.checkpoints[-1])

    @cached_property
    def record(self) -> Record:
        """Everything that accumulated over the run."""
        return Record.of(self.tally, self.env.items)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every registered metric with its default parameters."""
        return {name: metric.measure(self.record) for name, metric in _metrics().items()}

    def __getattr__(self, name: str) -> float:
        if not name.startswith("_") and name in components("metric"):
            return self.metrics[name]
        close = "" if name.startswith("_") else suggest(name, components("metric"))
        raise AttributeError(f"a result has no {name!r}{close}")

    def measure(
        self, metric: str | Metric, *, group: str | None = None, **parameters: Any
    ) -> float:
        """Measure one metric, over items or over the groups of an item column.

        `result.measure("equality_b", over="eligible")`, `result.measure("tail_share", tail=0.5)`,
        `result.measure("equality_b", group="supplier")`
        """
        if isinstance(metric, str):
            chosen = build("metric", metric, parameters)
        else:
            chosen = as_component("metric", metric)
        if group is None:
            return float(chosen.measure(self.record))
        over = chosen.over if isinstance(chosen, ItemMetric) else "catalogue"
        return float(chosen.measure(self.by_group(group, over=over)[1]))

    def by_group(self, column: str, *, over: Over = "catalogue") -> tuple[tuple[str, ...], Record]:
        """Return the groups of an item column and the record added up over each."""
        columns = self.env.items.groups
        if column not in columns:
            known = f"one of {', '.join(columns)}{suggest(str(column), columns)}"
            rule = f"must be {known}" if columns else "must be left out: the items have no groups"
            raise ParameterError("group", rule, column)
        labels = columns[column]
        if over == "eligible":
            labels = labels[self.env.items.eligible]
        return self.record.over(over).by_group(labels.tolist())

    @cached_property
    def curves(self) -> dict[str, Floats]:
        """Every metric at every checkpoint, over what had accumulated: columns of a table.

        Where items cannot be recommended, `eligible.equality_b` is `equality_b` over the others.
        """
        chosen = _metrics() | eligible_metrics(self.env)
        columns: dict[str, list[float]] = {name: [] for name in chosen}
        for record in Record.series(self.tally, self.env.items):
            for name, metric in chosen.items():
                columns[name].append(metric.measure(record))
        rounds = self.tally.checkpoints.astype(np.float64)
        exploration = self.exploration_by_round[self.tally.checkpoints - 1]
        return {
            "round": rounds,
            **{name: np.array(column) for name, column in columns.items()},
            "exploration": exploration,
        }

    @property
    def exploration_by_round(self) -> Floats:
        """Mean exploration bonus of the recommended items in each round, (rounds,)."""
        return self._per_list(self.tally.width) * (UNIT * self.policy.width_factor)

    @property
    def clicks_by_round(self) -> Floats:
        """Clicks per slate in each round, (rounds,)."""
        return self._per_list(self.tally.clicks)

    def _per_list(self, sums: Ints) -> Floats:
        served = self.tally.served
        return np.asarray(np.divide(sums, served, out=np.full(len(sums), np.nan), where=served > 0))

    @property
    def optimal_value(self) -> float:
        """Value of the optimal slates, mean over users; in the first round if they change."""
        return math.fsum(self.env.optimum(1).values) / len(self.env.users)

    @property
    def recommendations(self) -> int:
        """Slates shown."""
        return int(self.tally.served.sum())

    def summary(self, *, over: Over = "catalogue") -> dict[str, Any]:
        """Return the run as one plain document, with metrics of items over all or eligible ones."""
        check_over(over)
        measured = self.metrics | {
            name: metric.measure(self.record) for name, metric in item_metrics(over).items()
        }
        metrics = {name: measured[name] for name in dict.fromkeys((*HEADLINE, *measured))}
        if self.realised:
            metrics["realised_regret"] = self.record.realised_regret
        return {
            "policy": self.policy.name,
            "label": self.policy.label,
            "reading": getattr(self.policy, "reading", None),
            "parameters": plain_spec(self.policy),
            "data": self.env.info.get("data"),
            "environment": self.env.info | self.env.part_specs,
            "fingerprint": self.env.fingerprint,
            "users": len(self.env.users),
            "items": len(self.env.items),
            "eligible": int(self.env.items.eligible.sum()),
            "over": over,
            "dim": self.env.items.dim,
            "k": self.env.k,
            "rounds": self.rounds,
            "seed": self.seed,
            "activity": self.activity,
            "engine": self.engine,
            "engine_reason": self.engine_reason,
            "precision": self.precision,
            "interrupted": self.interrupted,
            "optimal_value": self.optimal_value,
            "value_is_clicks": self.env.click_model.value_is_clicks,
            **{name: None if math.isnan(v) else v for name, v in metrics.items()},
            "missing": {
                name: metric.why_missing(self.record)
                for name, metric in _metrics().items()
                if math.isnan(metrics[name])
            },
            "seconds": self.seconds,
            "recommendations_per_second": self.recommendations / self.seconds,
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={self.metrics[name]:.4g}" for name in HEADLINE)
        return f"Result({self.policy.label}, {self.rounds:,} rounds: {values})"


def item_metrics(over: Over = "catalogue") -> dict[str, Metric]:
    """Return the metrics of how items fare."""
    kinds = components("metric")
    names = [name for name, kind in kinds.items() if issubclass(kind, ItemMetric)]
    return {name: build("metric", name, {"over": over}) for name in names}


def eligible_metrics(env: Environment) -> dict[str, Metric]:
    """Return these over the eligible items, by prefixed names; none if all items are eligible."""
    if env.items.eligible.all():
        return {}
    return {ELIGIBLE + name: metric for name, metric in item_metrics("eligible").items()}


def _metrics() -> dict[str, Metric]:
    return {name: build("metric", name) for name in components("metric")}


def plain_spec(policy: Policy) -> Mapping[str, Any]:
    """Return a policy as plain data, as far as it can be."""
    try:
        return to_spec(policy)
    except TypeError:  # a function as a weight has no plain form
        return {"name": policy.name, "repr": repr(policy)}
