"""What changed from one run to another: what was asked for, what was run, what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from faircascade.experiment.stats import Contrast, contrasts
from faircascade.experiment.store.results import Finished
from faircascade.experiment.study import Study, World
from faircascade.types import Floats

NOTHING = "–"
"""Stands for a value that one of the runs does not have."""


class Change(NamedTuple):
    """A value that is not the same in both runs."""

    what: str
    before: str
    after: str


class Shift(NamedTuple):
    """A metric of a policy in a world, over the seeds that both runs have."""

    world: str
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
    shifts: tuple[Shift, ...]
    """Metrics that both have of a policy of the same name in the same world."""

    @property
    def nothing(self) -> bool:
        """Say whether the runs are the same, whenever and wherever they were made."""
        return not (self.asked or self.deviating or self.only_before or self.only_after)


def difference(before: Sequence[Study], after: Sequence[Study]) -> Difference:
    """Compare two runs, each as far as it is finished."""
    ours, theirs = _finished(before), _finished(after)
    both = [key for key in ours if key in theirs]
    deviating = [key for key in both if not _equal(ours[key], theirs[key])]
    return Difference(
        asked=tuple(_changes(_asked(before), _asked(after))),
        circumstances=tuple(_changes(_circumstances(ours), _circumstances(theirs))),
        same=len(both) - len(deviating),
        deviating=tuple(f"{ours[key].about['label']}, seed {ours[key].seed}" for key in deviating),
        only_before=len(ours.keys() - theirs.keys()),
        only_after=len(theirs.keys() - ours.keys()),
        shifts=tuple(_shifts(before, after)),
    )


def _finished(studies: Iterable[Study]) -> dict[str, Finished]:
    return {
        cell.key: found
        for study in studies
        for cell in study.cells
        if (found := study.results.find(cell)) is not None
    }


def _equal(one: Finished, other: Finished) -> bool:
    return bool(one.about["metrics"] == other.about["metrics"])


def _asked(studies: Iterable[Study]) -> dict[str, str]:
    """Return every value of the specs by its path."""
    documents = [study.spec.document() for study in studies]
    if len(documents) == 1:
        return dict(_flat(documents[0]))
    return dict(_flat({document["name"]: document for document in documents}))


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{path}.{number}")
    else:
        yield path, str(value)


def _circumstances(finished: Mapping[str, Finished]) -> dict[str, str]:
    """Return versions and machines, each value once."""
    found: dict[str, dict[str, None]] = {}
    for run in finished.values():
        facts = {**run.about["versions"], "processor": run.about["machine"]["cpu"]}
        for name, value in facts.items():
            found.setdefault(name, {})[str(value)] = None
    return {name: ", ".join(values) for name, values in found.items()}


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[Change]:
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name, NOTHING), after.get(name, NOTHING)
        if one != other:
            yield Change(name, one, other)


def _shifts(before: Sequence[Study], after: Sequence[Study]) -> Iterable[Shift]:
    """Yield the metrics of policies that both runs have, where cells are not the same ones."""
    pairs: dict[tuple[str, str, str], tuple[Floats, Floats]] = {}
    for world, one, other in _worlds(before, after):
        for label in one.runs:
            if label in other.runs and _differ(one, other, label):
                metrics = before[0].spec.metrics
                for metric in metrics:
                    pairs[world, label, metric] = _paired(one, other, label, metric)
    for (world, label, metric), contrast in contrasts(
        {key: (later, earlier) for key, (earlier, later) in pairs.items()}
    ).items():
        earlier, later = pairs[world, label, metric]
        if len(earlier):
            yield Shift(world, label, metric, earlier.mean(), later.mean(), contrast)


def _worlds(before: Sequence[Study], after: Sequence[Study]) -> Iterable[tuple[str, World, World]]:
    """Yield the worlds of both runs that belong together: the same options, or the only ones."""
    ours = [world for study in before for world in study.worlds]
    theirs = [world for study in after for world in study.worlds]
    alone = len(ours) == len(theirs) == 1
    for one in ours:
        for other in theirs:
            if alone or (one.options, one.data) == (other.options, other.data):
                yield " ".join(f"{n}={v}" for n, v in one.environment.items()), one, other


def _differ(one: World, other: World, label: str) -> bool:
    ours = {run.folder.name for run in one.runs[label]}
    return ours != {run.folder.name for run in other.runs[label]}


def _paired(one: World, other: World, label: str, metric: str) -> tuple[Floats, Floats]:
    """Return a metric in both runs for the seeds that both have."""
    ours = {run.seed: run.value(metric) for run in one.runs[label]}
    theirs = {run.seed: run.value(metric) for run in other.runs[label]}
    seeds = [seed for seed in ours if seed in theirs]
    return np.array([ours[s] for s in seeds]), np.array([theirs[s] for s in seeds])
