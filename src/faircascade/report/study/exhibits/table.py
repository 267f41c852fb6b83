"""One row a policy and world: every number with its interval and its change."""

from __future__ import annotations

from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study import Study, World
from faircascade.report.study.blocks import (
    NOTHING_SIMULATED,
    Block,
    Group,
    Line,
    Prose,
    Row,
    Section,
    Table,
    text,
)
from faircascade.report.study.changes import Changes, change_lines, changes, tested_words
from faircascade.report.study.looks import looks_of
from faircascade.report.study.words import (
    NOT_RUN,
    estimate_lines,
    head,
    tags,
    world_name,
)


def table(study: Study, test: Test = "t") -> Section:
    """The metrics of all policies: mean over seeds, 95% interval, change against the baseline."""
    if not study.worlds:
        return Section("Results", [NOTHING_SIMULATED])
    metrics = study.spec.metrics
    found = changes(study.matched, metrics, test)
    groups = tuple(
        Group(_rows(study, place, world, found), world_name(study, world))
        for place, world in enumerate(study.matched)
    )
    words, among = "Means over seeds (n) with 95% intervals in brackets. ", "this table"
    blocks: list[Block] = [
        Table("", tuple(head(metric) for metric in metrics), groups),
        Prose(words + tested_words(found, study.matched, test, among=among), soft=True),
    ]
    return Section("Results", blocks)


def _rows(study: Study, place: int, world: World, found: Changes) -> tuple[Row, ...]:
    drawn = looks_of(world)
    return tuple(
        Row(
            label,
            tuple(_cell(found, place, world, label, metric) for metric in study.spec.metrics),
            drawn[label].colour,
            tags(world, label, study.spec.rounds),
        )
        for label in world.runs
    )


def _cell(found: Changes, place: int, world: World, label: str, metric: str) -> tuple[Line, ...]:
    if not world.runs[label]:
        return text(NOT_RUN, "soft")
    lines = estimate_lines(estimate(world.values(label, metric)))
    return (*lines, *change_lines(found, place, world, label, metric))
