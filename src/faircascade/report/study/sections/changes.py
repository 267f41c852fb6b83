"""How policies change each metric, by environment: what holds everywhere, and what does not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from faircascade.experiment.stats import Test
from faircascade.experiment.study import Study
from faircascade.report.study.blocks import (
    NOTHING_SIMULATED,
    Block,
    Group,
    Head,
    Line,
    Prose,
    Row,
    Section,
    Table,
    text,
)
from faircascade.report.study.changes import Changes, change_line, tested_words
from faircascade.report.study.changes import changes as found_in
from faircascade.report.study.formatting import NOT_RUN, environment_marks, head
from faircascade.report.study.styles import styles_of
from faircascade.report.tables import percent


def changes(study: Study, test: Test = "t") -> Section:
    """One table a metric: a row a policy, a column an environment, changes in percent."""
    title = "Changes by environment"
    if not study.environments:
        return Section(title, [NOTHING_SIMULATED])
    found = found_in(study.matched, study.spec.metrics, test)
    metrics = study.spec.metrics if _compared(study) else ()
    among = "these tables" if len(metrics) > 1 else "this table"
    said = tested_words(found, study.matched, test, among=among)
    if metrics:
        said += " In brackets are 95% intervals of the changes (Student's t over paired seeds)."
    blocks: list[Block] = [Prose(said), *(_table(study, found, metric) for metric in metrics)]
    return Section(title, blocks)


def _compared(study: Study) -> dict[str, tuple[str, ...]]:
    """Return the policies that are held against another, and what is said below each."""
    labels: dict[str, tuple[str, ...]] = {}
    for environment in study.matched:
        for label in environment.runs:
            if label != environment.baseline:
                rounds = environment.rounds(label)
                fewer = 0 < rounds < study.spec.rounds
                labels[label] = (f"{rounds:,} rounds",) if fewer else labels.get(label, ())
    return labels


def _table(study: Study, found: Changes, metric: str) -> Table:
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


def _cell(study: Study, found: Changes, place: int, label: str, metric: str) -> tuple[Line, ...]:
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
