"""Everything that can be said of every mean and every change: intervals, p, effects, wins."""

from __future__ import annotations

import math
from collections.abc import Sequence

from faircascade.experiment.stats import RESAMPLES, TESTS, Contrast, Interval, Test
from faircascade.experiment.study import EnvironmentResults, Study
from faircascade.report.study.blocks import (
    NOTHING_SIMULATED,
    Block,
    Group,
    Head,
    Line,
    Listing,
    Notice,
    Prose,
    Row,
    Section,
    Table,
    none_finished,
    text,
)
from faircascade.report.study.changes import (
    MARK,
    against_words,
    changes,
    significant,
    tested_words,
    tone_of,
    too_few,
)
from faircascade.report.study.formatting import (
    NOT_RUN,
    environment_name,
    finished,
    interval,
    spread,
    title,
)
from faircascade.report.study.metric_summary import MetricSummary, measured
from faircascade.report.study.styles import styles_of
from faircascade.report.tables import number, p_value, percent, signed

_LONG = 30
"""A table with more rows than this is folded."""
_SHORT = {"t": "paired t", "wilcoxon": "Wilcoxon"}


def statistics(study: Study, test: Test = "t") -> Section:
    """One table an environment: every metric and policy with intervals, test, effect and wins."""
    name = "Statistics"
    if not study.environments:
        return Section(name, [NOTHING_SIMULATED])
    found = changes(study.matched, study.spec.metrics, test)
    blocks: list[Block] = []
    warning = too_few(found, test)
    if warning:
        blocks += [Notice("Too few seeds", warning), Prose(against_words(study.matched), soft=True)]
    else:
        words = tested_words(found, study.matched, test, among="this study")
        blocks.append(Prose(words, soft=True))
    every = list(measured(study, found))
    for environment in study.matched:
        if finished(environment):
            blocks.append(
                _table(study, environment, [m for m in every if m.environment is environment], test)
            )
        else:
            blocks.append(none_finished(environment_name(study, environment)))
    return Section(name, [*blocks, Listing("What the columns mean", _meanings(test))])


def _table(
    study: Study, environment: EnvironmentResults, every: Sequence[MetricSummary], test: Test
) -> Table:
    heads = (
        Head("Mean"),
        Head("95% interval", "Student's t"),
        Head("95% interval", "bootstrap"),
        Head("Difference", "with 95% interval"),
        Head("Change"),
        Head("p", _SHORT[test]),
        Head("p", "Holm"),
        Head("Effect", "Hedges' g_z"),
        Head("Seeds", "won–tied–lost"),
    )
    groups = tuple(
        Group(
            tuple(_row(study, m) for m in every if m.metric == metric),
            f"{title(metric)} ({'higher' if of.higher_is_better else 'lower'} is better)",
        )
        for metric, of in {m.metric: m for m in every}.items()
    )
    seeds = spread(len(environment.runs[label]) for label in finished(environment))
    name = f"{environment_name(study, environment)}: {seeds} {'seed' if seeds == '1' else 'seeds'}"
    return Table(name, heads, groups, folded=len(every) > _LONG)


def _row(study: Study, m: MetricSummary) -> Row:
    look, rounds = styles_of(m.environment)[m.label], m.environment.rounds(m.label)
    tags = (
        *(("baseline",) if m.label == m.environment.baseline else ()),
        *((f"{rounds:,} rounds",) if 0 < rounds < study.spec.rounds else ()),
    )
    if not m.environment.runs[m.label]:
        return Row(m.label, (text(NOT_RUN, "soft"), *[text("")] * 8), look.colour, tags)
    cells = (
        text(number(m.estimate.mean), "strong"),
        text(interval(m.estimate) or "one seed", "" if interval(m.estimate) else "soft"),
        _bootstrap(m.bootstrap, m.estimate.mean),
        *(_change_cells(m.change, m) if m.change else [text("–", "soft")] * 6),
    )
    return Row(m.label, cells, look.colour, tags)


def _bootstrap(found: Interval, mean: float) -> tuple[Line, ...]:
    if found.why_not:
        return text(found.why_not, "soft")
    return text(f"[{number(found.low, like=mean)}, {number(found.high, like=mean)}]")


def _change_cells(change: Contrast, m: MetricSummary) -> list[tuple[Line, ...]]:
    like = m.estimate.mean
    around = ""
    if not math.isnan(change.low):
        around = f"[{signed(change.low, like=like)}, {signed(change.high, like=like)}]"
    tone = tone_of(change, m.metric)
    counted = change.wins(higher_is_better=m.higher_is_better)
    sure = significant(change)
    return [
        (
            Line(signed(change.difference, like=like)),
            *([Line(around, "soft")] if around else []),
        ),
        (Line(percent(change.percent), tone, f"{tone} than the baseline" if tone else ""),),
        text(p_value(change.p)),
        (
            Line(
                p_value(change.corrected) + (f" {MARK}" if sure else ""),
                "strong" if sure else "",
                "significant" if sure else "",
            ),
        ),
        text(_effect(change.hedges_gz)),
        text("–".join(map(str, counted))),
    ]


def _effect(value: float) -> str:
    return signed(value, decimals=2 if abs(value) < 10 else (1 if abs(value) < 100 else 0))


def _meanings(test: Test) -> tuple[tuple[str, str], ...]:
    return (
        (
            "95% interval, Student's t",
            "Of the mean over seeds. Right in 95 of 100 cases if values scatter like normal ones.",
        ),
        (
            "95% interval, bootstrap",
            f"Of the mean, from {RESAMPLES:,} resamples of the seeds (BCa): it asks for no such "
            "shape and need not be symmetric, but it is too short with few seeds. Of normal values "
            "it covers the mean in 73 of 100 cases with three seeds, 83 with five, 91 with ten.",
        ),
        (
            "Difference, change",
            "Mean over seeds of the difference from the baseline with the same seed, which has the "
            "same users and draws, with its 95% interval (Student's t); and in percent.",
        ),
        (
            "p",
            f"By itself, and corrected for all comparisons of this study made together: "
            f"{TESTS[test]}. {MARK} marks what stays below 0.05.",
        ),
        (
            "Effect, g_z",
            "The mean difference in units of the standard deviation of the differences (Cohen's "
            "d_z), freed of its bias over few seeds (Hedges' correction). It says how far a change "
            "stands out from the scatter between seeds, not how large it is for a user or an item: "
            "policies that meet the same draws scatter little, so that it can be very large.",
        ),
        (
            "Won–tied–lost",
            "In how many seeds the policy does better than the baseline, the same, and worse.",
        ),
    )
