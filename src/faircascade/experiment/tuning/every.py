"""Tuning every policy of a spec that can be tuned, so that they are compared at the same cost."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faircascade.experiment.running.executors import Executor
from faircascade.experiment.spec import Spec
from faircascade.experiment.spec.grids import expand
from faircascade.experiment.spec.policies import OF_THE_RUN
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from faircascade.experiment.tuning.bounds import BoundCheck
from faircascade.experiment.tuning.loop import Tuned, tune
from faircascade.experiment.tuning.search import ALL, SEARCH, WITHIN, Search, share_of
from faircascade.experiment.tuning.trial import Trial
from faircascade.experiment.tuning.tuned import found_from_anywhere
from faircascade.progress import Report
from faircascade.storage import replacing


@dataclass(frozen=True, kw_only=True, eq=False)
class TunedPolicies:
    """What came of tuning every policy, whether or not it came to its end."""

    spec: Spec
    """As written, without grids of policies."""
    found: Mapping[int, Tuned]
    """By the number of the policy."""
    complete: bool
    trouble: str = ""

    def chosen(self, number: int) -> Trial | None:
        """Return the best trial of a policy, or the nearest where none keeps to the bounds."""
        return next(iter(self.found[number].ranking), None)

    def label(self, number: int) -> str:
        """Return what a policy is called in the spec as written."""
        return self.spec.lines()[number][0]

    @property
    def comparison(self) -> Spec:
        """The spec with its policies tuned, which `faircascade run` takes."""
        policies = [self._entry(number) for number in range(len(self.spec.policies))]
        return replace(
            self.spec,
            policies=tuple(policies),
            tune={},
            data=found_from_anywhere(self.spec),
            baseline=None if self.spec.baseline is None else self._baseline(policies),
        )

    def _entry(self, number: int) -> dict[str, Any]:
        written = self.spec.policies[number]
        trial = self.chosen(number) if number in self.found else None
        if trial is None:
            return {name: value for name, value in written.items() if name != SEARCH}
        entry = self.found[number].search.candidates.entry(trial.values)
        kept = {name: written[name] for name in OF_THE_RUN if name in written and name != SEARCH}
        return entry | kept

    def _baseline(self, policies: list[dict[str, Any]]) -> str:
        """Return what the baseline, which is not tuned, is called beside tuned policies."""
        before = [label for label, _, _ in self.spec.lines()].index(str(self.spec.baseline))
        return replace(self.spec, policies=tuple(policies), baseline=None).lines()[before][0]

    def checks(self, study: Study) -> dict[int, list[BoundCheck]]:
        """Say how each tuned policy keeps to the bounds on the seeds of the comparison."""
        (environment,) = study.environments
        labels = [label for label, _, _ in study.lines]
        return {
            number: [
                bound.verdict(*environment.paired(labels[number], bound.metric))
                for bound in tuned.search.bounds
            ]
            for number, tuned in self.found.items()
            if environment.runs[labels[number]]
        }


def fairest_within(spec: Spec, share: str) -> Spec:
    """Return a spec whose policies are to be tuned to the fairest within a share of the clicks.

    The rest of its table [tune] stays, but for what would be another question.
    """
    share_of(share)
    kept = {name: spec.tune[name] for name in _STAYS if name in spec.tune}
    return replace(spec, tune={"policy": ALL, WITHIN: share, **kept})


_STAYS = (
    *("maximize", "trials", "seeds", "rounds", "sampler_seed", "environment", "every_policy"),
)


def tunes_all(spec: Spec) -> bool:
    """Say whether a spec asks for all of its policies to be tuned."""
    return spec.tune.get("policy") == ALL


def without_grids(spec: Spec) -> Spec:
    """Return a spec with an entry for each policy that the grids of one stand for."""
    return replace(spec, policies=tuple(each for entry in spec.policies for each in expand(entry)))


def tune_every(
    spec: Spec,
    fingerprint: str,
    sources: Sources,
    results: Results,
    *,
    trials: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
    say: Callable[[str], None] | None = None,
) -> TunedPolicies:
    """Tune each policy that has a strength or a table `search`, one after the other.

    Ctrl-C ends it with what is finished; the same call goes on from there.
    """
    asked = without_grids(spec)
    searches = Search.each(asked, trials=trials)
    if not searches:
        raise spec.error("none of the policies can be tuned: no strength, no search", "policies")
    found: dict[int, Tuned] = {}
    for place, (number, search) in enumerate(searches.items()):
        tuned = tune(
            search,
            fingerprint,
            sources,
            results,
            executor=executor,
            progress=_part(progress, asked.lines()[number][0], place, len(searches)),
            say=say,
        )
        found[number] = tuned
        if not tuned.complete:
            return TunedPolicies(spec=asked, found=found, complete=False, trouble=tuned.trouble)
    return TunedPolicies(spec=asked, found=found, complete=True)


def _part(progress: Report | None, label: str, place: int, count: int) -> Report | None:
    """Return the progress of one search as that of all."""
    if progress is None:
        return None
    return lambda what, share: progress(f"{label}, {what}", (place + share) / count)


def tuned_before(spec: Spec, folder: Path) -> Spec:
    """Return what a spec was tuned to in a folder; the spec itself if it was not, or needs no
    tuning."""
    path = _path(spec, folder)
    return Spec.load(path) if tunes_all(spec) and path.is_file() else spec


def _path(spec: Spec, folder: Path) -> Path:
    return folder / f"{spec.name}-tuned.toml"


def write_tuned(tuned: TunedPolicies, folder: Path) -> Path:
    """Write the tuned spec, and beside it every trial as a table; return the spec's path."""
    path = _path(tuned.spec, folder)
    with replacing(path) as draft:
        draft.write_text(tuned.comparison.to_toml(), encoding="utf-8")
    rows = [row for number in tuned.found for row in _rows(tuned, number)]
    with (
        replacing(folder / f"{tuned.spec.name}-trials.csv") as draft,
        draft.open("w", encoding="utf-8", newline="") as file,
    ):
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return path


def _rows(tuned: TunedPolicies, number: int) -> list[dict[str, Any]]:
    """Return the trials of a policy, one row each."""
    found, chosen = tuned.found[number], tuned.chosen(number)
    search = found.search
    return [
        {
            "policy": tuned.label(number),
            "trial": trial.number,
            "values": " ".join(f"{name}={value}" for name, value in trial.values.items()),
            "metric": search.metric,
            "value": trial.means.get(search.metric, ""),
            "clicks": trial.means.get("clicks", ""),
            "baseline_value": found.baseline.get(search.metric, ""),
            "baseline_clicks": found.baseline.get("clicks", ""),
            "within": trial.is_feasible,
            "chosen": trial is chosen,
            "failure": trial.failure,
            "cells": " ".join(trial.cells),
        }
        for trial in found.trials
    ]
