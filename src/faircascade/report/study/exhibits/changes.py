"""How policies change each metric, world by world: what holds everywhere, and what does not."""

from __future__ import annotations

import math

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
from faircascade.report.study.looks import looks_of
from faircascade.report.study.words import NOT_RUN, head, world_name
from faircascade.report.tables import percent


def changes(study: Study, test: Test = "t") -> Section:
    """One table a metric: a row a policy, a column a world, changes in percent."""
    title = "Changes, world by world"
    if not study.worlds:
        return Section(title, [NOTHING_SIMULATED])
    found = found_in(study.matched, study.spec.metrics, test)
    blocks: list[Block] = [_table(study, found, metric) for metric in study.spec.metrics]
    among = "these tables" if len(blocks) > 1 else "this table"
    words = "95% intervals of the changes in brackets (Student's t over paired seeds). "
    blocks.append(Prose(words + tested_words(found, study.matched, test, among=among), soft=True))
    return Section(title, blocks)


def _table(study: Study, found: Changes, metric: str) -> Table:
    worlds, about = study.matched, head(metric)
    drawn = {label: look.colour for world in worlds for label, look in looks_of(world).items()}
    compared = [label for label in drawn if any(label != w.baseline for w in worlds)]
    rows = tuple(
        Row(
            label,
            tuple(_cell(study, found, place, label, metric) for place in range(len(worlds))),
            drawn[label],
        )
        for label in compared
    )
    heads = tuple(Head(world_name(study, world)) for world in worlds)
    return Table(f"{about.title} ({about.below})", heads, (Group(rows),))


def _cell(study: Study, found: Changes, place: int, label: str, metric: str) -> tuple[Line, ...]:
    world = study.matched[place]
    if label == world.baseline:
        return text("baseline", "soft")
    if (place, label, metric) not in found:
        return text(NOT_RUN, "soft")
    change = found[place, label, metric]
    line, ends = change_line(change, metric, len(world.runs[label])), change.percents
    if not all(map(math.isfinite, ends)):
        return (line,)
    return line, Line(f"[{', '.join(map(percent, ends))}]", "soft")
