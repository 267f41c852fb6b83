"""What comes of a search: the final comparison, its spec file, and a table of the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from faircascade.experiment.spec import Spec
from faircascade.experiment.store.files import write_parquet
from faircascade.experiment.study import Study
from faircascade.experiment.tuning.bounds import BoundCheck
from faircascade.experiment.tuning.candidates import entry_of, policy_of
from faircascade.experiment.tuning.loop import Tuned
from faircascade.experiment.tuning.search import baseline_of, only
from faircascade.experiment.tuning.trial import Trial
from faircascade.registry import to_spec
from faircascade.storage import replacing

TUNED, TRIALS = "tuned.toml", "trials"


def comparison_of(tuned: Tuned, best: Trial) -> Spec:
    """Return the final comparison: the baseline, the policy as written, and the tuned one.

    It has the seeds and rounds of the spec itself. Of policies that are the same, one is there.
    """
    search = tuned.search
    spec, candidates = search.spec, search.candidates
    _, baseline, rounds = baseline_of(spec)
    first = entry_of(baseline) | ({"rounds": rounds} if rounds < spec.rounds else {})
    entries: dict[str, Mapping[str, Any]] = {}
    for entry in (first, candidates.entry(candidates.start), candidates.entry(best.values)):
        entries.setdefault(_key(entry), entry)
    return replace(
        only(spec, list(entries.values())),
        name=f"{spec.name}-tuned",
        title=f"{spec.title}, tuned",
        metrics=tuple(dict.fromkeys([*spec.metrics, *search.metrics])),
        data=found_from_anywhere(spec),
    )


def label_of(comparison: Spec, tuned: Tuned, best: Trial) -> str:
    """Return what the tuned policy is called in the final comparison."""
    wanted = _key(tuned.search.candidates.entry(best.values))
    return next(label for label, policy, _ in comparison.lines() if repr(to_spec(policy)) == wanted)


def verdicts(study: Study, label: str, tuned: Tuned) -> list[BoundCheck]:
    """Say how the bounds fare on the seeds of the final comparison, which the search never saw.

    While no seed is finished there is nothing to say.
    """
    (environment,) = study.environments
    pairs = [(bound, *environment.paired(label, bound.metric)) for bound in tuned.search.bounds]
    return [bound.verdict(own, other) for bound, own, other in pairs if len(own)]


def write_comparison(comparison: Spec, tuned: Tuned, best: Trial, folder: Path) -> Path:
    """Write the final comparison as a spec file that `faircascade run` takes; return the path."""
    search = tuned.search
    wanted = f"{'most' if search.maximize else 'least'} {search.metric}"
    bounds = "".join(f", {bound}" for bound in search.bounds)
    remark = (
        f"# Found by `faircascade tune {search.spec.source.name}`: {wanted}{bounds}.\n"
        f"# Trial {best.number} of {len(tuned.trials)}, {search.rounds} rounds on seeds "
        f"{', '.join(map(str, search.seeds))}; the seeds below are others.\n\n"
    )
    path = folder / TUNED
    with replacing(path) as temporary:
        temporary.write_text(remark + comparison.to_toml(), encoding="utf-8")
    return path


def write_trials(tuned: Tuned, folder: Path) -> list[Path]:
    """Write one row per trial, as Parquet and as CSV; return the paths."""
    import pyarrow as pa
    from pyarrow import csv

    columns = trial_columns(tuned)
    paths = [folder / f"{TRIALS}.parquet", folder / f"{TRIALS}.csv"]
    write_parquet(paths[0], columns)
    with replacing(paths[1]) as temporary:
        csv.write_csv(pa.table(columns), temporary)
    return paths


def trial_columns(tuned: Tuned) -> dict[str, list[Any]]:
    """Return the trials as columns: number, parameters, value, bounds, feasible, failure, cells.

    `value` is the mean of the metric that was searched for. A bound has what is held against it:
    the change in percent, or the mean. Where a trial failed there is nothing.
    """
    search, trials = tuned.search, tuned.trials
    return {
        "number": [trial.number for trial in trials],
        **{
            name: _column([trial.values.get(name) for trial in trials])
            for name in search.candidates.ranges
        },
        "value": [trial.means.get(search.metric) for trial in trials],
        **{
            str(bound): [
                bound.measure(trial.means[bound.metric], tuned.baseline[bound.metric])
                if trial.means
                else None
                for trial in trials
            ]
            for bound in search.bounds
        },
        "feasible": [trial.is_feasible for trial in trials],
        "failure": [trial.failure for trial in trials],
        "cells": [" ".join(trial.cells) for trial in trials],
    }


def _key(entry: Mapping[str, Any]) -> str:
    """Return what tells policies apart, whatever was written and what is the default."""
    return repr(to_spec(policy_of(entry)))


def found_from_anywhere(spec: Spec) -> dict[str, Any]:
    """Return the data of a spec with its files found from any folder."""
    (source,) = replace(spec, folder=spec.folder.resolve()).sources()
    return source


def _column(values: Sequence[Any]) -> list[Any]:
    """Return values as one column can hold them: numbers, or else text."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
