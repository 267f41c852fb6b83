"""What is kept of a simulation, in memory or on disk: settings, metrics, curves, items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from faircascade.engine import Result
from faircascade.engine.result import plain_spec
from faircascade.errors import ParameterError
from faircascade.experiment.cell import Cell, hash_of
from faircascade.experiment.machine import describe_machine, platform_versions
from faircascade.metrics.exposure import Exposures, exposure_b, exposure_p
from faircascade.registry import identity
from faircascade.theory import environment_conditions
from faircascade.types import Floats

GROUP = "group."
"""Prefix of the item columns that hold groups."""
_ROUNDING = 1e-9
"""How far apart the same environment can be, built on two machines; seen so far: 1e-15."""


class CellResult:
    """One finished simulation, as tables and figures read it."""

    about: dict[str, Any]
    """The settings, the final metrics, and how the run went."""
    curves: dict[str, Floats]
    """Every metric at every checkpoint: columns of a table, `round` among them."""
    items: dict[str, Any]
    """One row for each item: id, merit, exposure_b, exposure_p, clicks, and its groups, if any."""

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

    def value(self, metric: str, rounds: int | None = None) -> float:
        """Return a metric at the end, or as it stood at a checkpoint; NaN where it has no value."""
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
        "metrics": {n: v if math.isfinite(v) else None for n, v in result.metrics.items()},
        "optimal_value": result.optimal_value,
        "most_clicks": _most_clicks(result),
        "users": len(env.users),
        "items": len(env.items),
        "environment": dict(env.info),
        "parts": {kind: identity(part) for kind, part in env.parts.items()},
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
        "exposure_b": exposure_b(record),
        "exposure_p": exposure_p(record),
        "clicks": record.item_clicks.sum(axis=1),
        **{f"{GROUP}{name}": column for name, column in items.groups.items()},
    }
