"""Summary of what was run, for the page and for every study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from faircascade.environment.environment import part_words, unusual_parts
from faircascade.environment.worlds import world_words
from faircascade.experiment.cell_result import CellResult
from faircascade.experiment.study_results import EnvironmentResults, StudyResults, items_words
from faircascade.report.blocks import Notice
from faircascade.report.formatting import (
    data_name,
    duration,
    listed,
    numbered,
    option,
    spread,
)

NOTHING = "nothing is simulated"
_VALID = "What is shown is valid for what is there."


def runs_of(studies: Iterable[StudyResults]) -> list[CellResult]:
    """Return every finished run once, however many studies share it."""
    return list({key: run for study in studies for key, run in study.runs.items()}.values())


def facts(studies: Sequence[StudyResults]) -> list[tuple[str, str]]:
    """Return what holds for the page, as terms and descriptions."""
    simulated = [study for study in studies if study.longest]
    if not simulated:
        return [("Simulations", NOTHING)]
    runs = runs_of(simulated)
    abouts = [run.about for run in runs]
    sizes = {about["users"] for about in abouts}, {about["items"] for about in abouts}
    engines = Counter(f"{about['engine']} ({about['engine_reason']})" for about in abouts)
    versions = dict.fromkeys(_versions(about["versions"]) for about in abouts)
    notes = (str(note) for about in abouts for note in about["environment"].get("notes", ()))
    environments = [e for study in simulated for e in study.environments]
    asked = len({key for study in simulated for key in study.keys})
    found = [
        ("Data", _distinct(data_name(e.data) for e in environments)),
        ("Users × items", " × ".join(map(spread, sizes)) if runs else "not known yet"),
        ("Features (d)", varying(environments, "dim")),
        ("Slate length (K)", varying(environments, "k")),
        ("Rounds", spread(rounds for study in simulated for _, _, rounds in study.lines)),
        ("Seeds", numbered({seed for study in simulated for seed in study.seeds})),
        ("Reading of the paper", listed(dict.fromkeys(r for s in simulated for r in readings(s)))),
        ("align", varying(environments, "align")),
        ("zero_rows", varying(environments, "zero_rows")),
        ("Runs finished", f"{len(runs):,} of {asked:,}"),
        ("Engine", listed(f"{name}: {_runs(count)}" for name, count in engines.items())),
        ("Versions", "; ".join(versions)),
        ("Time of all runs", duration(sum(float(about["seconds"]) for about in abouts))),
        ("Notes on the data", "; ".join(dict.fromkeys(notes))),
    ]
    return [(term, value) for term, value in found if value]


def overview(studies: Sequence[StudyResults]) -> list[str]:
    """Return what to know before any number, in a line or two: sizes, and which items count."""
    simulated = [study for study in studies if study.longest]
    environments = [e for study in simulated for e in study.environments]
    runs = runs_of(simulated)
    if not runs:
        return []
    users = spread(run.about["users"] for run in runs)
    rounds = spread(rounds for study in simulated for _, _, rounds in study.lines)
    seeds = len({seed for study in simulated for seed in study.seeds})
    k = " or ".join(dict.fromkeys(str(e.options["k"]) for e in environments))
    lengths = [f"slates of {k}", f"{rounds} rounds"]
    sizes = [f"{users} users", *lengths, "1 seed" if seeds == 1 else f"{seeds:,} seeds"]
    data = _distinct(data_name(e.data) for e in environments)
    about = ", ".join(filter(None, (data, _world(runs)))) + _parts(runs)
    return [f"{about}: {listed(sizes)}. {items_words(environments, simulated[0].over)}"]


def _world(runs: Sequence[CellResult]) -> str:
    """Name the world of all runs; nothing if they differ, or were not made of ratings."""
    cascade = not any("click_model" in unusual_parts(run.about["parts"]) for run in runs)
    worlds = {world_words(run.about["environment"], cascade=cascade) for run in runs}
    return worlds.pop() if len(worlds) == 1 else ""


def _parts(runs: Iterable[CellResult]) -> str:
    """Name the unusual parts of the environment of all runs; nothing if they differ."""
    parts = {part_words(run.about["parts"]) for run in runs}
    return parts.pop() if len(parts) == 1 else ""


def study_line(study: StudyResults) -> str:
    """Return the facts of one study in a line."""
    if not study.longest:
        return f"{study.name}: {NOTHING}."
    environments, runs = study.environments, study.runs
    given = dict.fromkeys(name for e in environments for name in e.given)
    told = [name for name in ("align", "zero_rows", *given) if name not in ("dim", "k")]
    values = {name: varying(environments, name) for name in dict.fromkeys(("dim", "k", *told))}
    parts = [
        f"{study.name}: {_distinct(data_name(e.data) for e in environments)}",
        *(option(name, value) for name, value in values.items() if value),
        f"{spread(rounds for _, _, rounds in study.lines)} rounds",
        f"{'seed' if len(study.seeds) == 1 else 'seeds'} {numbered(study.seeds)}",
        *([f"reading {listed(readings(study))}"] if readings(study) else []),
        f"{len(runs):,} of {len(study.keys):,} runs finished",
        duration(sum(float(run.about["seconds"]) for run in runs.values())),
    ]
    return "; ".join(parts) + "."


def varying(environments: Iterable[EnvironmentResults], name: str) -> str:
    """Return the values that an option takes, as far as it is known."""
    return listed(dict.fromkeys(e.options[name] for e in environments if name in e.options))


def inexact(studies: Sequence[StudyResults]) -> list[Notice]:
    """Say where regret is against slates that are good rather than the best."""
    abouts = [run.about for run in runs_of(studies)]
    models = dict.fromkeys(
        unusual_parts(about["parts"])["click_model"]
        for about in abouts
        if not about.get("best_is_optimal", True)
    )
    words = (
        f"Click model {listed(models)} does not know the best slates. Regret is against good ones, "
        "the same for all policies: it can be negative, and lower is still better. There are no "
        "optimal slates to compare with, and random slates have no regret."
    )
    return [Notice("Regret can be negative", words)] if models else []


def unfinished(studies: Sequence[StudyResults]) -> list[Notice]:
    """Say how much is still to be run; nothing if all is there."""
    found = [_stopped(study) for study in studies if study.interrupted]
    asked, there = len({key for s in studies for key in s.keys}), len(runs_of(studies))
    if there < asked:
        where = listed(f"{s.missing:,} of {s.name}" for s in studies if s.missing)
        words = f"{asked - there:,} of {asked:,} runs are not finished ({where})."
        found.append(Notice("Not complete", f"{words} {_VALID}"))
    return found


def _stopped(study: StudyResults) -> Notice:
    """Say of a study that was stopped how far its runs came."""
    (environment,) = study.environments
    lengths = {
        label: spread(run.rounds for run in environment.runs[label]) for label in environment.runs
    }
    words = "Policies or seeds that were not finished may be missing."
    if len(set(lengths.values())) > 1:
        words += " Runs differ in length, so compare with care: "
        words += (
            listed(f"{label} finished {rounds} rounds" for label, rounds in lengths.items()) + "."
        )
    else:
        words += f" Every run finished {next(iter(lengths.values()))} rounds."
    return Notice("Stopped before it was complete", f"{words} {_VALID}")


def readings(study: StudyResults) -> list[str]:
    """Return the readings of a study's policies."""
    policies = (policy for _, policy, _ in study.lines)
    return list(dict.fromkeys(str(p.reading) for p in policies if hasattr(p, "reading")))


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _versions(of: Mapping[str, str]) -> str:
    return (
        f"faircascade {of['faircascade']}, Python {of['python']}, NumPy {of['numpy']}, "
        f"{of['machine']}"
    )


def _distinct(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))
