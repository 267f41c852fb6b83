"""One row a policy and world: every number with its interval and its change."""

from __future__ import annotations

from faircascade.engine import HEADLINE
from faircascade.experiment.stats import estimate
from faircascade.experiment.study import Study, World
from faircascade.report.reproduction.blocks import (
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
from faircascade.report.reproduction.changes import Changes, change_lines, changes, tested_words
from faircascade.report.reproduction.looks import looks_of
from faircascade.report.reproduction.words import (
    NOT_RUN,
    estimate_lines,
    head,
    tags,
    world_name,
)

METRICS = (*HEADLINE, "fairness_regret")


def table(study: Study) -> Section:
    """All metrics of all policies: mean over seeds, 95% interval, change against the baseline."""
    if not study.worlds:
        return Section("Results", [NOTHING_SIMULATED])
    found = changes(study.matched, METRICS)
    groups = tuple(
        Group(_rows(study, place, world, found), world_name(study, world))
        for place, world in enumerate(study.matched)
    )
    words = "Means over seeds (n) with 95% intervals in brackets. "
    blocks: list[Block] = [
        Table("", tuple(head(metric) for metric in METRICS), groups),
        Prose(words + tested_words(found, study.matched), soft=True),
    ]
    return Section("Results", blocks)


def _rows(study: Study, place: int, world: World, found: Changes) -> tuple[Row, ...]:
    drawn = looks_of(world)
    return tuple(
        Row(
            label,
            tuple(_cell(found, place, world, label, metric) for metric in METRICS),
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
