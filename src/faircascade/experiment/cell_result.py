"""What is kept of a simulation, in memory or on disk: settings, metrics, curves, items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from faircascade.engine import Result
from faircascade.engine.result import eligible_metrics, plain_spec
from faircascade.errors import ParameterError
from faircascade.experiment.cell import Cell, hash_of
from faircascade.experiment.group_sums import GroupSums
from faircascade.experiment.machine import describe_machine, platform_versions
from faircascade.experiment.yardsticks import yardsticks
from faircascade.metrics import Over
from faircascade.metrics.base import ELIGIBLE, GROUP
from faircascade.metrics.exposure import Exposures, exposure_b, exposure_p
from faircascade.theory import environment_conditions
from faircascade.types import Floats

V = TypeVar("V")
_ROUNDING = 1e-9
"""How far apart the same environment can be, built on two machines; seen so far: 1e-15."""


class CellResult:
    """One finished simulation, as tables and figures read it."""

    about: dict[str, Any]
    """The settings, the final metrics, and how the run went."""
    curves: dict[str, Floats]
    """Every metric at every checkpoint: columns of a table, `round` among them."""
    items: dict[str, Any]
    """One row for each item: id, merit, eligible, exposure_b, exposure_p, clicks, and its groups,
    if any."""

    @property
    def seed(self) -> int:
        return int(self.about["settings"]["seed"])

    @property
    def rounds(self) -> int:
        return int(self.about["settings"]["rounds"])

    @property
    def key(self) -> str:
        """What tells this run from others: a hash of its settings."""
        return hash_of(self.about["settings"] | {"label": self.about["label"]})

    @property
    def exposures(self) -> Exposures:
        """The exposure of each item by all four notions."""
        return Exposures.of(*(self.items[n] for n in ("exposure_b", "exposure_p", "merit")))

    @property
    def groups(self) -> tuple[str, ...]:
        """The item columns that hold groups."""
        return tuple(n.removeprefix(GROUP) for n in self.items if n.startswith(GROUP))

    @property
    def eligible(self) -> int | None:
        """How many items can be recommended; None if that was not kept (by older releases)."""
        return self.about.get("eligible")

    def over(self, over: Over) -> CellResult:
        """Return the run with every metric of items over the catalogue or the eligible ones."""
        if over == "catalogue":
            return self
        if self.eligible is None:
            raise ParameterError(
                "over",
                "must be catalogue for runs of a release that did not keep which are eligible",
                over,
            )
        return self if self.eligible == self.about["items"] else EligibleOnly(self)

    @cached_property
    def group_sums(self) -> dict[str, GroupSums]:
        """What the groups of each item column got."""
        return {column: GroupSums.of(self.items, GROUP + column) for column in self.groups}

    def value(self, metric: str, rounds: int | None = None) -> float:
        """Return a metric at the end, or as it stood at a checkpoint; NaN where it has no value.

        `group.genre.equality_b` is taken over the groups of a column, and known at the end alone.
        """
        if metric.startswith(GROUP):
            column, _, name = metric.removeprefix(GROUP).rpartition(".")
            known = column in self.group_sums and rounds in (None, self.rounds)
            return self.group_sums[column].evenness(name) if known else math.nan
        if rounds is None or rounds == self.rounds:
            value = self.about["metrics"].get(metric)  # it may have been registered since
            return math.nan if value is None else float(value)
        at = np.flatnonzero(self.curves["round"] == rounds)
        if len(at) == 0:
            raise ParameterError("rounds", "must be a checkpoint of the run", rounds)
        return float(self.curves[metric][at[0]]) if metric in self.curves else math.nan

    def is_paired(self, other: CellResult) -> bool:
        """Say whether another run took place in the same environment, if perhaps built elsewhere.

        Another machine's linear algebra rounds differently, so bits cannot be asked for.
        """
        marks = ("optimal_value", "largest_preference")
        return all(math.isclose(self.about[m], other.about[m], rel_tol=_ROUNDING) for m in marks)


@dataclass(frozen=True, eq=False)
class EligibleOnly(CellResult):
    """A run as it looks if only the items count that could be recommended."""

    run: CellResult

    @property
    def key(self) -> str:
        return self.run.key

    @cached_property
    def about(self) -> dict[str, Any]:  # type: ignore[override]
        about = self.run.about
        ways = {name: eligible_only(of) for name, of in about["yardsticks"].items()}
        return about | {"metrics": eligible_only(about["metrics"]), "yardsticks": ways}

    @cached_property
    def curves(self) -> dict[str, Floats]:  # type: ignore[override]
        return eligible_only(self.run.curves)

    @cached_property
    def items(self) -> dict[str, Any]:  # type: ignore[override]
        kept = self.run.items["eligible"]
        return {name: column[kept] for name, column in self.run.items.items()}


def eligible_only(values: Mapping[str, V]) -> dict[str, V]:
    """Return values by metric, those over eligible items in the place of the others."""
    own = {name: value for name, value in values.items() if not name.startswith(ELIGIBLE)}
    return {name: values.get(ELIGIBLE + name, value) for name, value in own.items()}


@dataclass(frozen=True, eq=False)
class CellOutput(CellResult):
    """What came out of a simulation, in memory."""

    about: dict[str, Any]
    curves: dict[str, Floats]
    items: dict[str, Any]

    @classmethod
    def of(cls, cell: Cell, result: Result, *, threads: int = 1) -> CellOutput:
        """Return what is kept of a cell's result."""
        settings = {"settings": cell.settings, "label": cell.label, "threads": threads}
        return cls(settings | _about(result), _curves(result), _items(result))

    @classmethod
    def alone(cls, result: Result, label: str) -> CellOutput:
        """Return what is kept of a result that is no cell of a spec."""
        settings = {
            "fingerprint": result.env.fingerprint,
            "policy": dict(plain_spec(result.policy)),
            "seed": result.seed,
            "rounds": result.rounds,
        }
        about = {"settings": settings, "label": label} | _about(result)
        return cls(about, _curves(result), _items(result))


def _about(result: Result) -> dict[str, Any]:
    """Return a result as one plain document."""
    env, here = result.env, describe_machine()
    return {
        "metrics": {n: v if math.isfinite(v) else None for n, v in _metrics(result).items()},
        "yardsticks": yardsticks(result),
        "optimal_value": result.optimal_value,
        "most_clicks": _most_clicks(result),
        "best_is_optimal": env.click_model.best_is_optimal,
        "users": len(env.users),
        "items": len(env.items),
        "eligible": int(env.items.eligible.sum()),
        "environment": dict(env.info),
        "parts": env.part_specs,
        "facts": {n: v if math.isfinite(v) else None for n, v in asdict(env.facts).items()},
        "fingerprint": env.fingerprint,
        "largest_preference": float(np.sqrt((env.preferences**2).sum(axis=1)).max()),
        "proof": {c.rule: c.reason for c in environment_conditions(env)},
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "seconds": result.seconds,
        "machine": here["machine"],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": platform_versions(),
    }


def _metrics(result: Result) -> dict[str, float]:
    """Return every metric; where items cannot be recommended, over the eligible ones as well."""
    eligible = eligible_metrics(result.env).items()
    return {**result.metrics, **{name: m.measure(result.record) for name, m in eligible}}


def _most_clicks(result: Result) -> float | None:
    """Return the clicks per slate that no policy can be expected to beat, if that is known."""
    model = result.env.click_model
    known = model.value_is_clicks and model.best_is_optimal and result.env.stands_still
    return result.optimal_value if known else None


def _curves(result: Result) -> dict[str, Floats]:
    """Return every metric by checkpoint, with the clicks of each interval by themselves."""
    starts = np.concatenate([[0], result.tally.checkpoints[:-1]])
    served = np.add.reduceat(result.tally.served, starts)
    clicks = np.add.reduceat(result.tally.clicks, starts)
    return {**result.curves, "interval_clicks": clicks / np.maximum(served, 1)}


def _items(result: Result) -> dict[str, Any]:
    """Return one row for each item."""
    items, record = result.env.items, result.record
    return {
        "item": items.ids.astype(str),
        "merit": items.merit,
        "eligible": items.eligible,
        "exposure_b": exposure_b(record),
        "exposure_p": exposure_p(record),
        "clicks": record.item_clicks.sum(axis=1),
        **{f"{GROUP}{name}": column for name, column in items.groups.items()},
    }
