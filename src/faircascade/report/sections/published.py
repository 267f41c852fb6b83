"""RQ2: our numbers beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.paper.published import DATA, METRICS
from faircascade.paper.verdict import CLOSE, STILL
from faircascade.report.blocks import (
    Block,
    Group,
    Line,
    Listing,
    Notice,
    Prose,
    Row,
    Table,
)
from faircascade.report.changes import Changes, change_lines, changes, tested_words
from faircascade.report.formatting import (
    NOT_RUN,
    environment_name,
    estimate_lines,
    head,
    listed,
    published_name,
    tags,
    title,
)
from faircascade.report.numbers import number, percent
from faircascade.report.policy_styles import styles_of
from faircascade.report.published.comparison import (
    SYMBOLS,
    PublishedComparison,
    held,
    summary,
)

_COLUMNS = (*METRICS, "fairness_regret")


def published(study: StudyResults, test: Test = "t") -> list[Block]:
    """One table for each environment, in the order of the paper, every number with a verdict."""
    numbers = list(held(study))
    blocks = _opening(study, numbers)
    for environment in study.environments:
        blocks += _environment(
            study, environment, [n for n in numbers if n.environment is environment], test
        )
    return blocks


def _opening(study: StudyResults, numbers: Sequence[PublishedComparison]) -> list[Block]:
    names = dict.fromkeys(str(environment.data["name"]) for environment in study.environments)
    if not numbers:
        data = listed(names)
        words = f"The paper has no numbers for these policies and environments on the data {data}."
        return [Notice("Nothing was published", words)]
    signs = ", ".join(f"{sign} {outcome}" for outcome, sign in SYMBOLS.items())
    return [
        *(
            _counts(name, [n for n in numbers if n.environment.data["name"] == name])
            for name in names
        ),
        Prose(
            "Each cell has, from the top: our mean over seeds, its 95% interval, the published "
            "number with our difference from it in percent, the verdict, and the change against "
            f"{study.environments[0].baseline}. Signs: {signs}. A number matches if it is within "
            f"{CLOSE:.0%} of the published one and on the same side of LinUCB (a change of less "
            f"than {STILL:.0%} counts as none); if only the latter holds, it goes in the same "
            "direction.",
            soft=True,
        ),
    ]


def _counts(name: str, numbers: Sequence[PublishedComparison]) -> Prose:
    """Say what the published numbers of one data set come to."""
    return Prose(f"{published_name(DATA.get(name, name))}: {summary(numbers)}")


def _environment(
    study: StudyResults,
    environment: EnvironmentResults,
    numbers: Sequence[PublishedComparison],
    test: Test,
) -> list[Block]:
    name = environment_name(study, environment)
    found = changes([environment], _COLUMNS, test)
    heads = tuple(head(metric) for metric in _COLUMNS)
    blocks: list[Block] = [
        Table(name, heads, (Group(_rows(study, environment, numbers, found)),)),
        Prose(tested_words(found, [environment], test, among="this table"), soft=True),
    ]
    if numbers:
        blocks.append(Listing(f"Why: the verdicts for {name}", _reasons(numbers)))
    return blocks


def _rows(
    study: StudyResults,
    environment: EnvironmentResults,
    numbers: Sequence[PublishedComparison],
    found: Changes,
) -> tuple[Row, ...]:
    """Return the rows of the paper in its order, then policies that it does not have."""
    theirs: dict[str, dict[str, PublishedComparison]] = {}
    for n in numbers:
        theirs.setdefault(n.label, {})[n.metric] = n
    drawn = styles_of(environment)
    return tuple(
        Row(
            label,
            tuple(
                _cell(environment, label, m, theirs.get(label, {}).get(m), found) for m in _COLUMNS
            ),
            drawn[label].colour,
            tags(environment, label, study.longest, seeds=True),
        )
        for label in dict.fromkeys([*theirs, *environment.runs])
    )


def _cell(
    environment: EnvironmentResults,
    label: str,
    metric: str,
    theirs: PublishedComparison | None,
    found: Changes,
) -> tuple[Line, ...]:
    lines: list[Line] = []
    if environment.runs[label]:
        lines += estimate_lines(estimate(environment.values(label, metric)))
    elif theirs is None:
        lines.append(Line(NOT_RUN, "soft"))
    if theirs is not None:
        lines += _published_lines(theirs)
    elif metric in METRICS:
        lines.append(Line("not published", "soft"))
    return (*lines, *change_lines(found, 0, environment, label, metric))


def _published_lines(n: PublishedComparison) -> list[Line]:
    away = f" ({percent(n.percent)})" if n.ours.seeds else ""
    return [Line(f"paper {number(n.published)}{away}"), Line(f"{SYMBOLS[n.outcome]} {n.outcome}")]


def _reasons(numbers: Sequence[PublishedComparison]) -> tuple[tuple[str, str], ...]:
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
