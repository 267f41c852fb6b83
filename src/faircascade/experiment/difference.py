"""What changed from one run to another: what was asked for, what was run, what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from faircascade.experiment.cell import Cell
from faircascade.experiment.stats import Contrast, contrasts
from faircascade.experiment.store.results import FinishedCell
from faircascade.experiment.study import Study
from faircascade.experiment.study_results import EnvironmentResults
from faircascade.metrics.base import ELIGIBLE
from faircascade.types import Floats

NOTHING = "–"
"""Stands for a value that one of the runs does not have."""


class Change(NamedTuple):
    """A value that is not the same in both runs."""

    what: str
    before: str
    after: str


class MetricShift(NamedTuple):
    """A metric of a policy in an environment, over the seeds that both runs have."""

    environment: str
    policy: str
    metric: str
    before: float
    after: float
    contrast: Contrast


@dataclass(frozen=True)
class Difference:
    """What changed from run a to run b."""

    asked: tuple[Change, ...]
    """Values of the specs."""
    circumstances: tuple[Change, ...]
    """Versions and machines."""
    same: int
    """Finished cells that both have, with the same numbers."""
    deviating: tuple[str, ...]
    """Cells that both have with other numbers, though the settings are the same."""
    only_before: int
    only_after: int
    shifts: tuple[MetricShift, ...]
    """Metrics that both have of a policy of the same name in the same environment."""

    @property
    def nothing(self) -> bool:
        """Say whether the runs are the same, whenever and wherever they were made."""
        return not (self.asked or self.deviating or self.only_before or self.only_after)


def difference(before: Sequence[Study], after: Sequence[Study]) -> Difference:
    """Compare two runs, each as far as it is finished."""
    ours, theirs = _finished(before), _finished(after)
    both = [key for key in ours if key in theirs]
    deviating = [key for key in both if not _equal(ours[key][1], theirs[key][1])]
    return Difference(
        asked=tuple(_changes(_asked(before), _asked(after))),
        circumstances=tuple(_changes(_circumstances(ours), _circumstances(theirs))),
        same=len(both) - len(deviating),
        deviating=tuple(ours[key][0].name for key in deviating),
        only_before=len(ours.keys() - theirs.keys()),
        only_after=len(theirs.keys() - ours.keys()),
        shifts=tuple(_shifts(before, after)),
    )


def _finished(studies: Iterable[Study]) -> dict[str, tuple[Cell, FinishedCell]]:
    return {
        cell.key: (cell, found)
        for study in studies
        for cell in study.cells
        if (found := study.results.find(cell)) is not None
    }


def _equal(one: FinishedCell, other: FinishedCell) -> bool:
    """Say whether two runs of a cell came to the same numbers, at every checkpoint.

    Older releases kept no metrics over eligible items.
    """
    ours, theirs = one.about["metrics"], other.about["metrics"]
    names = [name for name in (*ours, *one.curves) if not name.startswith(ELIGIBLE)]
    return all(ours.get(name) == theirs.get(name) for name in names) and all(
        name in other.curves
        and np.array_equal(one.curves[name], other.curves[name], equal_nan=True)
        for name in names
        if name in one.curves
    )


def _asked(studies: Iterable[Study]) -> dict[str, dict[str, str]]:
    """Return every value of each spec by its path, and what files hold, wherever they are."""
    return {
        study.spec.name: {n: v for n, v in _flat(study.spec.document()) if n != "components"}
        | {"contents of the data": ", ".join({cell.fingerprint: "" for cell in study.cells})}
        | dict(_own_code(study))
        for study in studies
    }


def _own_code(study: Study) -> Iterable[tuple[str, str]]:
    """Yield the hash of every module of somebody's own that finished cells ran."""
    for environment in study.environments:
        for run in (run for runs in environment.runs.values() for run in runs):
            for module, code in run.about["settings"].get("own_code", {}).items():
                yield f"source of {module}", code


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{path}.{number}")
    else:
        yield path, str(value)


def _circumstances(finished: Mapping[str, tuple[Cell, FinishedCell]]) -> dict[str, dict[str, str]]:
    """Return versions and machines, each value once."""
    found: dict[str, dict[str, None]] = {}
    for _, run in finished.values():
        facts = {**run.about["versions"], "processor": run.about["machine"]["cpu"]}
        for name, value in facts.items():
            found.setdefault(name, {})[str(value)] = None
    return {"": {name: ", ".join(values) for name, values in found.items()}}


def _changes(
    before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]
) -> Iterable[Change]:
    """Yield values that are not the same; a group that only one side has is one change."""
    groups = list(dict.fromkeys((*before, *after)))
    if len(before) == len(after) == 1:  # the same experiment under another name is still the same
        groups, after = list(before), dict(zip(before, after.values(), strict=True))
    for group in groups:
        if group not in before or group not in after:
            there = "there" if group in before else NOTHING
            yield Change(group, there, NOTHING if group in before else "there")
            continue
        one, other = before[group], after[group]
        prefix = f"{group}: " if len(groups) > 1 else ""
        for name in dict.fromkeys((*one, *other)):
            if one.get(name, NOTHING) != other.get(name, NOTHING):
                yield Change(prefix + name, one.get(name, NOTHING), other.get(name, NOTHING))


def _shifts(before: Sequence[Study], after: Sequence[Study]) -> Iterable[MetricShift]:
    """Yield the metrics of policies that both runs have, where they are not the same."""
    pairs: dict[tuple[str, str, str], tuple[Floats, Floats]] = {}
    for ours, theirs in _studies(before, after):
        name = f"{ours.spec.name} " if len(before) > 1 else ""
        for environment, one, other in _environments(ours, theirs):
            for label in one.runs:
                values = {
                    metric: _paired(one, other, label, metric) for metric in ours.spec.metrics
                }
                if any(not np.array_equal(*two, equal_nan=True) for two in values.values()):
                    pairs |= {(name + environment, label, m): two for m, two in values.items()}
    found = contrasts({key: (later, earlier) for key, (earlier, later) in pairs.items()})
    for (environment, label, metric), contrast in found.items():
        earlier, later = pairs[environment, label, metric]
        yield MetricShift(environment, label, metric, earlier.mean(), later.mean(), contrast)


def _studies(before: Sequence[Study], after: Sequence[Study]) -> Iterable[tuple[Study, Study]]:
    """Yield the studies that belong together: of the same name, or the only ones."""
    alone = len(before) == len(after) == 1
    for ours in before:
        for theirs in after:
            if alone or ours.spec.name == theirs.spec.name:
                yield ours, theirs


def _environments(
    before: Study, after: Study
) -> Iterable[tuple[str, EnvironmentResults, EnvironmentResults]]:
    """Yield the environments that belong together: of the same options, or the only ones."""
    alone = len(before.environments) == len(after.environments) == 1
    for one in before.environments:
        for other in after.environments:
            if alone or (one.options, one.data) == (other.options, other.data):
                yield one.name, one, other


def _paired(
    one: EnvironmentResults, other: EnvironmentResults, label: str, metric: str
) -> tuple[Floats, Floats]:
    """Return a metric in both runs for the seeds that both have."""
    ours = {run.seed: run.value(metric) for run in one.runs[label]}
    theirs = {run.seed: run.value(metric) for run in other.runs.get(label, ())}
    seeds = [seed for seed in ours if seed in theirs]
    return np.array([ours[s] for s in seeds]), np.array([theirs[s] for s in seeds])
