"""Text of the page: names of environments, seeds, durations, estimates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faircascade.experiment.comparison import higher_is_better, title_of
from faircascade.experiment.environment_options import flat_options
from faircascade.experiment.spec import Spec
from faircascade.experiment.stats import Estimate
from faircascade.experiment.study import EnvironmentResults, Study
from faircascade.report.study.blocks import Head, Line
from faircascade.report.tables import column, number

NOT_RUN = "not run yet"

_LETTERS = {"dim": "d", "k": "K"}
_BY_ROUND = {"interval_clicks": "Clicks per round", "exploration": "Exploration"}
_NAMES = {"movielens": "MovieLens", "yahoo-music": "Yahoo Music"}


def title(metric: str) -> str:
    """Return how a metric, or a column of the curves, is called."""
    return _BY_ROUND.get(metric) or title_of(metric)


def head(metric: str) -> Head:
    """Return the head of a metric's column."""
    return Head(
        title(metric),
        f"{'higher' if higher_is_better(metric) else 'lower'} is better",
        column(metric).meaning,
    )


def metric_terms(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """Return what metrics mean, each once: the title and a sentence or two."""
    found = [column(metric) for metric in dict.fromkeys(metrics)]
    return [(c.title, f"{c.meaning} {c.direction.capitalize()} is better.") for c in found]


def published_name(data: str) -> str:
    """Return how the paper calls the data of its tables."""
    return _NAMES.get(data, data)


def data_name(source: Mapping[str, Any]) -> str:
    """Return a data set's name with its options."""
    rest = [f"{name} = {value}" for name, value in source.items() if name != "name"]
    return str(source["name"]) + (f" ({listed(rest)})" if rest else "")


def environment_name(study: Study, environment: EnvironmentResults) -> str:
    """Return what tells an environment from the others of its study, in one line."""
    return ", ".join(environment_marks(study, environment))


def environment_marks(study: Study, environment: EnvironmentResults) -> list[str]:
    """Return d, K and whatever else tells an environment from the others of its study."""
    environments = [other.options for other in study.environments]
    names = [
        *_LETTERS,
        *(n for n in environment.options if n not in _LETTERS and _vary(environments, n)),
    ]
    said = [option(name, environment.options[name]) for name in names]
    if any(other.data != environment.data for other in study.environments):
        said.insert(0, data_name(environment.data))
    return said


def option(name: str, value: Any) -> str:
    """Return an option of an environment and its value."""
    return f"{_LETTERS.get(name, name)} = {value}"


def varying(specs: Iterable[Spec], name: str) -> str:
    """Return the values that an option takes in the environments of some specs."""
    environments = [
        flat_options(environment) for spec in specs for environment in spec.environments()
    ]
    return listed(dict.fromkeys(environment[name] for environment in environments))


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


def interval(estimate: Estimate) -> str:
    """Return the 95% interval; nothing where there is none."""
    if math.isnan(estimate.low):
        return ""
    low, high = (number(value, like=estimate.mean) for value in (estimate.low, estimate.high))
    return f"[{low}, {high}]"


def estimate_lines(estimate: Estimate) -> list[Line]:
    """Return a mean and its interval as lines of a cell."""
    around = interval(estimate)
    return [Line(number(estimate.mean), "strong"), *([Line(around, "soft")] if around else [])]


def tags(environment: EnvironmentResults, label: str, longest: int) -> tuple[str, ...]:
    """Return what is said below a policy's name: baseline, seeds, and rounds where fewer."""
    seeds = len(environment.runs[label])
    if not seeds:
        return (NOT_RUN,)
    rounds = environment.rounds(label)
    return (
        *(("baseline",) if label == environment.baseline else ()),
        f"n = {seeds}",
        *((f"{rounds:,} rounds",) if rounds < longest else ()),
    )


def finished(environment: EnvironmentResults) -> list[str]:
    """Return the policies with at least one finished seed."""
    return [label for label, runs in environment.runs.items() if runs]


def left_out(environment: EnvironmentResults, labels: Iterable[str]) -> str:
    """Say which of some policies have not been run; nothing if all have."""
    missing = [label for label in labels if not environment.runs[label]]
    return f" Not run yet: {listed(missing)}." if missing else ""


def seeds_of(environment: EnvironmentResults, labels: Iterable[str]) -> str:
    """Say how many seeds lines and bands stand for."""
    counts = sorted({len(environment.runs[label]) for label in labels})
    if counts == [1]:
        return " One seed, so there are no bands."
    if len(counts) == 1:
        return f" Lines are means over {counts[0]} seeds, bands span them."
    return f" Lines are means over the seeds that are finished ({spread(counts)}), bands span them."


def _vary(environments: Sequence[dict[str, Any]], name: str) -> bool:
    return len({repr(environment.get(name)) for environment in environments}) > 1
