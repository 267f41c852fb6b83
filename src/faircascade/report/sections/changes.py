"""How policies change each metric, by environment: what holds everywhere, and what does not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from faircascade.experiment.stats import Test
from faircascade.experiment.study_results import StudyResults
from faircascade.report.blocks import (
    Block,
    Group,
    Head,
    Line,
    Prose,
    Row,
    Table,
    text,
)
from faircascade.report.changes import Changes, change_line, tested_words
from faircascade.report.changes import changes as found_in
from faircascade.report.formatting import NOT_RUN, environment_marks, head
from faircascade.report.numbers import percent
from faircascade.report.policy_styles import styles_of


def changes(study: StudyResults, test: Test = "t") -> list[Block]:
    """One table for each metric: a row for each policy, a column for each environment."""
    found = found_in(study.matched, study.metrics, test)
    metrics = study.metrics if _compared(study) else ()
    among = "these tables" if len(metrics) > 1 else "this table"
    said = tested_words(found, study.matched, test, among=among)
    if metrics:
        said += " In brackets are 95% intervals of the changes (Student's t over paired seeds)."
    return [Prose(said), *(_table(study, found, metric) for metric in metrics)]


def _compared(study: StudyResults) -> dict[str, tuple[str, ...]]:
    """Return the policies that are held against another, and what is said below each."""
    labels: dict[str, tuple[str, ...]] = {}
    for environment in study.matched:
        for label in environment.runs:
            if label != environment.baseline:
                rounds = environment.rounds(label)
                fewer = 0 < rounds < study.longest
                labels[label] = (f"{rounds:,} rounds",) if fewer else labels.get(label, ())
    return labels


def _table(study: StudyResults, found: Changes, metric: str) -> Table:
    environments, about = study.matched, head(metric)
    drawn = {
        label: look.colour
        for environment in environments
        for label, look in styles_of(environment).items()
    }
    rows = tuple(
        Row(
            label,
            tuple(_cell(study, found, place, label, metric) for place in range(len(environments))),
            drawn[label],
            tags,
        )
        for label, tags in _compared(study).items()
    )
    heads = tuple(_head(environment_marks(study, environment)) for environment in environments)
    return Table(f"{about.title} ({about.below})", heads, (Group(rows),))


def _head(marks: Sequence[str]) -> Head:
    """Return the head of an environment's column, on two lines."""
    return Head(", ".join(marks[:2]), ", ".join(marks[2:]))


def _cell(
    study: StudyResults, found: Changes, place: int, label: str, metric: str
) -> tuple[Line, ...]:
    environment = study.matched[place]
    if label == environment.baseline:
        return text("baseline", "soft")
    if (place, label, metric) not in found:
        return text(NOT_RUN, "soft")
    change = found[place, label, metric]
    line, ends = change_line(change, metric, len(environment.runs[label])), change.percents
    if not all(map(math.isfinite, ends)):
        return (line,)
    low, high = (percent(end).removesuffix("%") for end in ends)
    return line, Line(f"[{low}, {high}]", "soft")
