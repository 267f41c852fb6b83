"""RQ2: our numbers beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study import Study, World
from faircascade.paper.published import DATA, METRICS
from faircascade.paper.verdict import CLOSE, STILL
from faircascade.report.study.blocks import (
    NOTHING_SIMULATED,
    Block,
    Group,
    Line,
    Listing,
    Notice,
    Prose,
    Row,
    Section,
    Table,
)
from faircascade.report.study.changes import Changes, change_lines, changes, tested_words
from faircascade.report.study.looks import looks_of
from faircascade.report.study.published.compare import SYMBOLS, Held, held, summary
from faircascade.report.study.words import (
    NOT_RUN,
    estimate_lines,
    head,
    listed,
    published_name,
    tags,
    title,
    world_name,
)
from faircascade.report.tables import number, percent

_COLUMNS = (*METRICS, "fairness_regret")


def published(study: Study, test: Test = "t") -> Section:
    """One table a world, in the order of the paper, every number with a verdict."""
    name = "Against the published numbers"
    if not study.worlds:
        return Section(name, [NOTHING_SIMULATED])
    numbers = list(held(study))
    blocks = _opening(study, numbers)
    for world in study.worlds:
        blocks += _world(study, world, [n for n in numbers if n.world is world], test)
    return Section(name, blocks)


def _opening(study: Study, numbers: Sequence[Held]) -> list[Block]:
    names = dict.fromkeys(str(world.data["name"]) for world in study.worlds)
    if not numbers:
        data = listed(names)
        words = f"The paper has no numbers for these policies and worlds on the data {data}."
        return [Notice("Nothing was published", words)]
    signs = ", ".join(f"{sign} {outcome}" for outcome, sign in SYMBOLS.items())
    return [
        *(_counts(name, [n for n in numbers if n.world.data["name"] == name]) for name in names),
        Prose(
            "Each cell has, from the top: our mean over seeds, its 95% interval, the published "
            "number with our difference from it in percent, what that comes to, and the change "
            f"against {study.worlds[0].baseline}. Signs: {signs}. A number matches that is within "
            f"{CLOSE:.0%} of the published one and on the same side of LinUCB, where a change of "
            f"less than {STILL:.0%} is none; on the same side alone it goes in the same direction.",
            soft=True,
        ),
    ]


def _counts(name: str, numbers: Sequence[Held]) -> Prose:
    """Say what the published numbers of one data set come to."""
    return Prose(f"{published_name(DATA.get(name, name))}: {summary(numbers)}")


def _world(study: Study, world: World, numbers: Sequence[Held], test: Test) -> list[Block]:
    name = world_name(study, world)
    found = changes([world], _COLUMNS, test)
    heads = tuple(head(metric) for metric in _COLUMNS)
    blocks: list[Block] = [
        Table(name, heads, (Group(_rows(study, world, numbers, found)),)),
        Prose(tested_words(found, [world], test, among="this table"), soft=True),
    ]
    if numbers:
        blocks.append(Listing(f"Why: the verdicts for {name}", _reasons(numbers)))
    return blocks


def _rows(study: Study, world: World, numbers: Sequence[Held], found: Changes) -> tuple[Row, ...]:
    """Return the rows of the paper in its order, then policies that it does not have."""
    theirs: dict[str, dict[str, Held]] = {}
    for n in numbers:
        theirs.setdefault(n.label, {})[n.metric] = n
    drawn = looks_of(world)
    return tuple(
        Row(
            label,
            tuple(_cell(world, label, m, theirs.get(label, {}).get(m), found) for m in _COLUMNS),
            drawn[label].colour,
            tags(world, label, study.spec.rounds),
        )
        for label in dict.fromkeys([*theirs, *world.runs])
    )


def _cell(
    world: World, label: str, metric: str, theirs: Held | None, found: Changes
) -> tuple[Line, ...]:
    lines: list[Line] = []
    if world.runs[label]:
        lines += estimate_lines(estimate(world.values(label, metric)))
    elif theirs is None:
        lines.append(Line(NOT_RUN, "soft"))
    if theirs is not None:
        lines += _published_lines(theirs)
    elif metric in METRICS:
        lines.append(Line("not published", "soft"))
    return (*lines, *change_lines(found, 0, world, label, metric))


def _published_lines(n: Held) -> list[Line]:
    away = f" ({percent(n.percent)})" if n.ours.seeds else ""
    return [Line(f"paper {number(n.published)}{away}"), Line(f"{SYMBOLS[n.outcome]} {n.outcome}")]


def _reasons(numbers: Sequence[Held]) -> tuple[tuple[str, str], ...]:
    """Return each reason once, with the cells that it is given for."""
    found: dict[str, dict[str, list[str]]] = {}
    for n in numbers:
        reason = f"{SYMBOLS[n.outcome]} {n.outcome}: {n.reason}"
        found.setdefault(reason, {}).setdefault(n.label, []).append(title(n.metric))
    return tuple(
        (reason, "; ".join(f"{label}: {', '.join(metrics)}" for label, metrics in cells.items()))
        for reason, cells in sorted(found.items(), key=lambda item: _rank(item[0]))
    )


def _rank(reason: str) -> int:
    """Return where a reason stands: as its outcome does among the signs."""
    return next(i for i, sign in enumerate(SYMBOLS.values()) if reason.startswith(sign))
