"""Summary of what was run, for the page and for every study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import FinishedCell
from faircascade.experiment.study import Study
from faircascade.report.study.blocks import Notice
from faircascade.report.study.formatting import (
    data_name,
    duration,
    listed,
    numbered,
    spread,
    varying,
)
from faircascade.report.study.published.summary import published_facts

NOTHING = "nothing is simulated"


def runs_of(studies: Iterable[Study]) -> list[FinishedCell]:
    """Return every finished cell once, however many studies share it."""
    found = {
        run.folder.name: run
        for study in studies
        for environment in study.environments
        for runs in environment.runs.values()
        for run in runs
    }
    return list(found.values())


def facts(studies: Sequence[Study]) -> list[tuple[str, str]]:
    """Return what holds for the page, as terms and descriptions."""
    simulated = [study for study in studies if study.spec.rounds]
    if not simulated:
        return [("Simulations", NOTHING)]
    runs = runs_of(simulated)
    abouts = [run.about for run in runs]
    sizes = {about["users"] for about in abouts}, {about["items"] for about in abouts}
    engines = Counter(f"{about['engine']} ({about['engine_reason']})" for about in abouts)
    versions = dict.fromkeys(_versions(about["versions"]) for about in abouts)
    notes = (str(note) for about in abouts for note in about["environment"].get("notes", ()))
    found = [
        ("Data", _distinct(_data(study) for study in simulated)),
        ("Users × items", " × ".join(map(spread, sizes)) if runs else "not known yet"),
        ("Rounds", spread(rounds for study in simulated for _, _, rounds in study.spec.lines())),
        ("Seeds", numbered({seed for study in simulated for seed in study.spec.seeds})),
        ("Reading of the paper", listed(dict.fromkeys(r for s in simulated for r in readings(s)))),
        ("align", varying([study.spec for study in simulated], "align")),
        ("zero_rows", varying([study.spec for study in simulated], "zero_rows")),
        *published_facts(simulated),
        ("Runs finished", f"{len(runs):,} of {len(_cells(simulated)):,}"),
        ("Engine", listed(f"{name}: {count:,} runs" for name, count in engines.items())),
        ("Versions", "; ".join(versions)),
        ("Time of all runs", duration(sum(float(about["seconds"]) for about in abouts))),
        ("Notes on the data", "; ".join(dict.fromkeys(notes))),
    ]
    return [(term, value) for term, value in found if value]


def study_line(study: Study) -> str:
    """Return the facts of one study in a line."""
    spec = study.spec
    if not spec.rounds:
        return f"Spec {spec.name}: {NOTHING}."
    runs = runs_of([study])
    seeds = f"{'seed' if len(spec.seeds) == 1 else 'seeds'} {numbered(spec.seeds)}"
    parts = [
        f"Spec {spec.name}: {_data(study)}",
        f"d = {varying([spec], 'dim')}",
        f"K = {varying([spec], 'k')}",
        *(f"{name} = {varying([spec], name)}" for name in _told(spec)),
        *(f"{name} = {_values(value)}" for name, value in _shared(spec)),
        f"{spread(rounds for _, _, rounds in spec.lines())} rounds",
        seeds,
        f"reading {listed(readings(study))}",
        f"{len(runs):,} of {len(study.cells):,} runs finished",
        duration(sum(float(run.about["seconds"]) for run in runs)),
    ]
    return "; ".join(parts) + "."


def _told(spec: Spec) -> list[str]:
    """Return the environment options to show: these two, and all that the spec gives."""
    said = dict.fromkeys(("align", "zero_rows", *spec.environment))
    return [name for name in said if name not in ("dim", "k")]


def _shared(spec: Spec) -> list[tuple[str, Any]]:
    """Return what every policy of a spec is given; readings are said apart."""
    return [(name, value) for name, value in spec.every_policy.items() if name != "reading"]


def _values(given: Any) -> str:
    return listed(given["grid"]) if isinstance(given, Mapping) and "grid" in given else str(given)


def unfinished(studies: Sequence[Study]) -> list[Notice]:
    """Say how much is still to be run; nothing if all is there."""
    asked, there = len(_cells(studies)), len(runs_of(studies))
    if there == asked:
        return []
    where = listed(f"{s.missing:,} of {s.spec.name}" for s in studies if s.missing)
    words = f"{asked - there:,} of {asked:,} runs are not finished ({where})."
    return [Notice("Not complete", f"{words} What is shown is valid for what is there.")]


def _cells(studies: Iterable[Study]) -> set[str]:
    """Return what is to be run, by keys, as studies may share cells."""
    return {cell.key for study in studies for cell in study.cells}


def readings(study: Study) -> list[str]:
    """Return the readings of a study's policies."""
    policies = (policy for _, policy, _ in study.spec.lines())
    return list(dict.fromkeys(str(p.reading) for p in policies if hasattr(p, "reading")))


def _data(study: Study) -> str:
    return _distinct(data_name(source) for source in study.spec.sources())


def _versions(of: Mapping[str, str]) -> str:
    return (
        f"faircascade {of['faircascade']}, Python {of['python']}, NumPy {of['numpy']}, "
        f"{of['machine']}"
    )


def _distinct(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))
