"""Text of the page: names of environments, seeds, durations, estimates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faircascade.experiment.stats import Estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics import higher_is_better, title_of
from faircascade.registry import lookup
from faircascade.report.blocks import Head, Line
from faircascade.report.numbers import number

NOT_RUN = "not run yet"
BEST = "★"
"""Stands beside the best mean of a column."""

_LETTERS = {"dim": "d", "k": "K"}
_BY_ROUND = {"interval_clicks": "Clicks per round", "exploration": "Exploration"}
_NAMES = {"movielens": "MovieLens", "yahoo-music": "Yahoo Music"}


def title(metric: str) -> str:
    """Return how a metric, or a column of the curves, is called."""
    return _BY_ROUND.get(metric) or title_of(metric)


def meaning(metric: str) -> str:
    """Return what a metric measures, in the words of its class."""
    words = (lookup("metric", metric.rpartition(".")[2]).__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(words.replace("`", "").split())


def direction(metric: str) -> str:
    """Return which values of a metric are better."""
    return f"{'higher' if higher_is_better(metric) else 'lower'} is better"


def head(metric: str) -> Head:
    """Return the head of a metric's column."""
    return Head(title(metric), direction(metric), meaning(metric))


def metric_terms(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """Return what metrics mean, each once: the title and a sentence or two."""
    return [
        (title(metric), f"{meaning(metric)} {direction(metric).capitalize()}.")
        for metric in dict.fromkeys(metrics)
    ]


def published_name(data: str) -> str:
    """Return how the paper calls the data of its tables."""
    return _NAMES.get(data, data)


def data_name(source: Mapping[str, Any]) -> str:
    """Return a data set's name with its options."""
    rest = [f"{name} = {value}" for name, value in source.items() if name != "name"]
    return str(source["name"]) + (f" ({listed(rest)})" if rest else "")


def environment_name(study: StudyResults, environment: EnvironmentResults) -> str:
    """Return what tells an environment from the others of its study, in one line."""
    return ", ".join(environment_marks(study, environment))


def environment_marks(study: StudyResults, environment: EnvironmentResults) -> list[str]:
    """Return d, K and whatever else tells an environment from the others of its study.

    What has no value of its own, such as a default that depends on K, is left out.
    """
    every, own = [other.options for other in study.environments], environment.options
    names = [*_LETTERS, *(n for n in own if n not in _LETTERS and _vary(every, n))]
    said = [option(name, own[name]) for name in names if own[name] is not None]
    if any(other.data != environment.data for other in study.environments):
        said.insert(0, data_name(environment.data))
    return said


def option(name: str, value: Any) -> str:
    """Return an option of an environment and its value."""
    return f"{_LETTERS.get(name, name)} = {value}"


def listed(values: Iterable[Any]) -> str:
    """Return values in one line."""
    return ", ".join(map(str, values))


def numbered(values: Iterable[int]) -> str:
    """Return whole numbers, three and more in a row by their ends.

    >>> numbered([1, 2, 3, 4, 101]), numbered([3, 1, 2]), numbered([1, 2])
    ('1 to 4, 101', '1 to 3', '1, 2')
    """
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return listed(f"{run[0]} to {run[-1]}" if len(run) > 2 else listed(run) for run in runs)


def spread(values: Iterable[int]) -> str:
    """Return one number, or the least and the greatest."""
    found = sorted(set(values))
    return " to ".join(f"{value:,}" for value in (found[:1] + found[1:][-1:]))


def duration(seconds: float) -> str:
    """Return a time in the two largest units.

    >>> duration(4.21), duration(75), duration(7300)
    ('4.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def interval(of: Estimate) -> str:
    """Return the 95% interval; nothing where there is none."""
    if math.isnan(of.low):
        return ""
    low, high = (number(value, like=of.mean) for value in (of.low, of.high))
    return f"[{low}, {high}]"


def estimate_lines(of: Estimate, *, best: bool = False) -> list[Line]:
    """Return a mean and its interval as lines of a cell."""
    around, mean = interval(of), number(of.mean)
    first = Line(f"{mean} {BEST}", "strong", "best") if best else Line(mean, "strong")
    return [first, *([Line(around, "soft")] if around else [])]


def tags(
    environment: EnvironmentResults, label: str, longest: int, *, seeds: bool = False
) -> tuple[str, ...]:
    """Return what is said below a policy's name: baseline, seeds if asked, rounds where fewer."""
    count, rounds = len(environment.runs[label]), environment.rounds(label)
    return (
        *(("baseline",) if label == environment.baseline and len(environment.runs) > 1 else ()),
        *((f"n = {count}" if count else NOT_RUN,) if seeds else ()),
        *((f"{rounds:,} rounds",) if 0 < rounds < longest else ()),
    )


def left_out(environment: EnvironmentResults, labels: Iterable[str]) -> str:
    """Say which of some policies have not been run; nothing if all have."""
    missing = [label for label in labels if not environment.runs[label]]
    return f" Not run yet: {listed(missing)}." if missing else ""


def seeds_of(environment: EnvironmentResults, labels: Iterable[str]) -> str:
    """Say how many seeds lines and bands stand for."""
    counts = [len(environment.runs[label]) for label in labels]
    if max(counts) == 1:
        return " There is one seed, so there are no bands."
    return f" Lines are means over {seed_count(counts)}; bands run from the least to the greatest."


def seed_count(counts: Iterable[int]) -> str:
    """Return how many seeds policies have.

    >>> seed_count([1, 1]), seed_count([3, 3]), seed_count([1, 3, 2])
    ('1 seed', '3 seeds', '1 to 3 seeds')
    """
    shown = spread(counts)
    return "1 seed" if shown == "1" else f"{shown} seeds"


def _vary(environments: Sequence[dict[str, Any]], name: str) -> bool:
    return len({repr(environment.get(name)) for environment in environments}) > 1
