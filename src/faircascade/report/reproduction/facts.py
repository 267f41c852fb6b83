"""What was run: said on top of the page and of every study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faircascade.experiment.results import Finished
from faircascade.experiment.spec import Spec
from faircascade.experiment.study import Study
from faircascade.paper.published import DATA, GENUINE, published
from faircascade.report.reproduction.blocks import Notice
from faircascade.report.reproduction.compare import Held, held, summary
from faircascade.report.reproduction.words import (
    duration,
    listed,
    numbered,
    published_name,
    spread,
    varying,
)

NOTHING = "nothing is simulated"


def runs_of(studies: Iterable[Study]) -> list[Finished]:
    """Return every finished cell once, however many studies share it."""
    found = {
        run.folder.name: run
        for study in studies
        for world in study.worlds
        for runs in world.runs.values()
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
        (
            "Against the published numbers",
            " ".join(summary(numbers) for numbers in map(_numbers, simulated) if numbers),
        ),
        ("Published, and not here", _elsewhere(simulated)),
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
    """Return the options of the worlds that are said: these two, and all that the spec gives."""
    said = dict.fromkeys(("align", "zero_rows", *spec.environment))
    return [name for name in said if name not in ("dim", "k")]


def _shared(spec: Spec) -> list[tuple[str, Any]]:
    """Return what every policy of a spec is given; readings are said apart."""
    return [(name, value) for name, value in spec.every_policy.items() if name != "reading"]


def _values(given: Any) -> str:
    return listed(given["grid"]) if isinstance(given, Mapping) and "grid" in given else str(given)


def notices(studies: Sequence[Study]) -> list[Notice]:
    """Return what a reader must know before any number."""
    names = dict.fromkeys(str(study.spec.data["name"]) for study in studies if study.spec.rounds)
    found = [_label(name) for name in names if name not in GENUINE]
    asked, there = len(_cells(studies)), len(runs_of(studies))
    if there < asked:
        where = listed(f"{s.missing:,} of {s.spec.name}" for s in studies if s.missing)
        words = f"{asked - there:,} of {asked:,} runs are not finished ({where})."
        found.append(Notice("Not complete", f"{words} What is shown is valid for what is there."))
    return found


def _numbers(study: Study) -> list[Held]:
    """Return the published numbers that a study shows."""
    return list(held(study)) if "published" in study.spec.show else []


def _elsewhere(studies: Sequence[Study]) -> str:
    """Say which published numbers no study of the page is held against."""
    here = {(n.row, n.metric) for study in studies for n in _numbers(study)}
    if not here:
        return ""
    data = {row.data for row, _ in here}
    left = [(row, metric) for row, of in published().items() for metric in of]
    missing = Counter(row.data for row, metric in left if (row, metric) not in here)
    return listed(
        f"{count:,} numbers on {published_name(name)}"
        + (" (no such world or policy in the specs)" if name in data else " (other data)")
        for name, count in missing.items()
    )


def _cells(studies: Iterable[Study]) -> set[str]:
    """Return what is to be run, by keys, as studies may share cells."""
    return {cell.key for study in studies for cell in study.cells}


def _label(name: str) -> Notice:
    """Say that data is not what the paper used."""
    lead, words = "NOT THE PAPER'S DATA", "are none that the paper used"
    if name in DATA:
        lead = "SYNTHETIC DATA"
        words = f"were generated to resemble {published_name(DATA[name])}"
    warning = "No number here can confirm or refute a published one."
    return Notice(lead, f"The ratings ({name}) {words}. {warning}")


def readings(study: Study) -> list[str]:
    """Return the readings of a study's policies."""
    policies = (policy for _, policy, _ in study.spec.lines())
    return list(dict.fromkeys(str(p.reading) for p in policies if hasattr(p, "reading")))


def _data(study: Study) -> str:
    rest = [f"{name} = {value}" for name, value in study.spec.data.items() if name != "name"]
    return str(study.spec.data["name"]) + (f" ({listed(rest)})" if rest else "")


def _versions(of: Mapping[str, str]) -> str:
    return (
        f"faircascade {of['faircascade']}, Python {of['python']}, NumPy {of['numpy']}, "
        f"{of['machine']}"
    )


def _distinct(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))
