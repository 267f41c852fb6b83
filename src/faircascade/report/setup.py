"""What was run: the facts a reader needs to judge or repeat a comparison."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from faircascade.engine import Result
from faircascade.experiment import Comparison
from faircascade.experiment.store.comparisons import document
from faircascade.report.series import optimal_value
from faircascade.report.tables import number

_SAID_ELSEWHERE = ("data", "notes", "items_with_zero_row", "items_with_floored_merit")
_SHOWN_SEEDS = 20


@dataclass(frozen=True)
class PolicyFacts:
    """One policy's parameters and how its runs went."""

    label: str
    name: str
    parameters: str
    rounds: str
    engine: str
    seconds: str


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Return what holds for all runs, as terms and descriptions."""
    runs = comparison.results[comparison.baseline]
    env = comparison.env
    first = document(comparison)
    found = [
        ("Data", _distinct(str(run.env.info.get("data", "?")) for run in runs)),
        ("Users", _spread(len(run.env.users) for run in runs)),
        ("Items", _spread(len(run.env.items) for run in runs)),
        (
            "Of these, never recommended",
            _spread(_ineligible(run) for run in runs).removeprefix("0"),
        ),
        ("Features (d)", _spread(run.env.items.dim for run in runs)),
        ("Length of a list (k)", _spread(run.env.k for run in runs)),
        ("Rounds", f"{comparison.rounds:,}"),
        ("Lists shown in a run", _spread(run.recommendations for run in runs)),
        ("Random seeds" if len(comparison.seeds) > 1 else "Random seed", _seeds(comparison)),
        ("Click model", _described(env.click_model)),
        ("Reading of the paper", _distinct(_readings(comparison))),
        ("Value of the optimal slates", number(optimal_value(comparison))),
        ("Items without features", _counted(runs, "items_with_zero_row")),
        ("Items whose merit was raised to the floor", _counted(runs, "items_with_floored_merit")),
        ("Fingerprint of the environment", _distinct(run.env.fingerprint for run in runs)),
        (
            "Versions",
            f"faircascade {first['faircascade']}, Python {first['python']}, "
            f"NumPy {first['numpy']}, {first['machine']}",
        ),
    ]
    return [(term, value) for term, value in found if value]


def options(comparison: Comparison) -> list[tuple[str, str]]:
    """Return how the environment was made, as it says itself."""
    info = comparison.env.info
    return [
        (name.replace("_", " "), _plain(value))
        for name, value in info.items()
        if name not in _SAID_ELSEWHERE
    ]


def data_notes(comparison: Comparison) -> list[str]:
    """Return what the data said about itself when it was read."""
    runs = comparison.results[comparison.baseline]
    return list(dict.fromkeys(str(n) for run in runs for n in run.env.info.get("notes", ())))


def policy_facts(comparison: Comparison) -> list[PolicyFacts]:
    """Return one entry a policy."""
    return [_policy(label, runs) for label, runs in comparison.results.items()]


def cut_short(comparison: Comparison) -> tuple[list[tuple[str, str]], str]:
    """Return the policies with a run shorter than the longest, and the length of that."""
    by_label = {label: [run.rounds for run in runs] for label, runs in comparison.results.items()}
    longest = max(map(max, by_label.values()))
    short = [(label, _spread(n)) for label, n in by_label.items() if min(n) < longest]
    return short, f"{longest:,}"


def _policy(label: str, runs: Iterable[Result]) -> PolicyFacts:
    runs = list(runs)
    spec = dict(runs[0].summary()["parameters"])
    name = str(spec.pop("name", runs[0].policy.name))
    engines = dict.fromkeys(f"{run.engine} ({run.engine_reason})" for run in runs)
    seconds = sum(run.seconds for run in runs)
    speed = sum(run.recommendations for run in runs) / seconds if seconds > 0 else 0.0
    return PolicyFacts(
        label,
        name,
        ", ".join(f"{key} = {_plain(value)}" for key, value in spec.items()) or "none",
        _spread(run.rounds for run in runs),
        "; ".join(engines),
        f"{seconds:,.1f} s, {speed:,.0f} lists a second",
    )


def _ineligible(run: Result) -> int:
    return int((~run.env.items.eligible).sum())


def _counted(runs: Iterable[Result], key: str) -> str:
    """Return a count that the environment recorded, or nothing where none did."""
    return _spread(int(run.env.info[key]) for run in runs if key in run.env.info)


def _readings(comparison: Comparison) -> list[str]:
    policies = [runs[0].policy for runs in comparison.results.values()]
    return [str(p.reading) for p in policies if hasattr(p, "reading")]


def _seeds(comparison: Comparison) -> str:
    seeds = comparison.seeds
    shown = ", ".join(map(str, seeds[:_SHOWN_SEEDS]))
    return shown + (f" and {len(seeds) - _SHOWN_SEEDS} more" if len(seeds) > _SHOWN_SEEDS else "")


def _described(component: Any) -> str:
    return str(getattr(component, "name", "") or type(component).__name__)


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _spread(values: Iterable[int]) -> str:
    """Return one number, or the least and the greatest."""
    found = sorted(values)
    if not found:
        return ""
    low, high = found[0], found[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{k} = {_plain(v)}" for k, v in value.items() if k != "name")
        name = str(value.get("name", ""))
        return f"{name}({inner})" if name else f"({inner})"
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except TypeError:
        return str(value)
