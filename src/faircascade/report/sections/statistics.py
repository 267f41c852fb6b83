"""Everything that can be said of every mean and every change: intervals, p, effects, wins."""

from __future__ import annotations

import math
from collections.abc import Sequence

from faircascade.experiment.stats import RESAMPLES, TESTS, Contrast, Interval, Test, too_few
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics.base import GROUP
from faircascade.report.blocks import (
    Block,
    Group,
    Head,
    Line,
    Listing,
    Notice,
    Prose,
    Row,
    Table,
    text,
)
from faircascade.report.changes import (
    MARK,
    against_words,
    changes,
    significant,
    tested_words,
    tone_of,
)
from faircascade.report.formatting import (
    NOT_RUN,
    direction,
    environment_name,
    interval,
    seed_count,
    tags,
    title,
)
from faircascade.report.metric_summary import MetricSummary, measured
from faircascade.report.numbers import number, p_value, percent, signed
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment

_LONG = 30
"""A table with more rows than this is folded."""
_SHORT = {"t": "paired t", "wilcoxon": "Wilcoxon"}


def statistics(study: StudyResults, test: Test = "t") -> list[Block]:
    """One table for each environment: every metric and policy with intervals, test and effect."""
    found = changes(study.matched, study.metrics, test)
    blocks: list[Block] = []
    warning = too_few(found, test)
    if warning:
        blocks += [Notice("Too few seeds", warning), Prose(against_words(study.matched), soft=True)]
    else:
        words = tested_words(found, study.matched, test, among="this study")
        blocks.append(Prose(words, soft=True))
    every = measured(study, test)
    blocks += by_environment(
        study,
        lambda environment, name, _: [
            _table(study, environment, name, _of(every, environment, groups=False), test)
        ],
    )
    for environment in study.matched:
        if grouped := _of(every, environment, groups=True):
            name = f"Over groups of items, {environment_name(study, environment)}"
            blocks.append(_table(study, environment, name, grouped, test))
    return [*blocks, Listing("What the columns mean", _meanings(test))]


def _of(
    every: Sequence[MetricSummary], environment: EnvironmentResults, *, groups: bool
) -> list[MetricSummary]:
    return [
        m for m in every if m.environment is environment and m.metric.startswith(GROUP) == groups
    ]


def _table(
    study: StudyResults,
    environment: EnvironmentResults,
    name: str,
    every: Sequence[MetricSummary],
    test: Test,
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
            f"{title(metric)} ({direction(metric)})",
        )
        for metric in dict.fromkeys(m.metric for m in every)
    )
    counted = seed_count(len(environment.runs[label]) for label in environment.finished)
    long = len(every) > _LONG or len(study.matched) > 1
    folded = long or every[0].metric.startswith(GROUP)
    return Table(f"{name}: {counted}", heads, groups, folded=folded)


def _row(study: StudyResults, m: MetricSummary) -> Row:
    look, said = styles_of(m.environment)[m.label], tags(m.environment, m.label, study.longest)
    if not m.environment.runs[m.label]:
        return Row(m.label, (text(NOT_RUN, "soft"), *[text("")] * 8), look.colour, said)
    cells = (
        text(number(m.estimate.mean), "strong"),
        text(interval(m.estimate) or "one seed", "" if interval(m.estimate) else "soft"),
        _bootstrap(m.bootstrap, m.estimate.mean),
        *(_change_cells(m.change, m) if m.change else [text("–", "soft")] * 6),
    )
    return Row(m.label, cells, look.colour, said)


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
            "Of the mean over seeds. It covers the true mean in 95% of cases if values are normal.",
        ),
        (
            "95% interval, bootstrap",
            f"Of the mean, from {RESAMPLES:,} resamples of the seeds (BCa). It does not assume "
            "normal values and need not be symmetric, but with few seeds it is too short: of "
            "normal values it covers the mean in 73% of cases with three seeds, 83% with five, "
            "91% with ten.",
        ),
        (
            "Difference, change",
            "The mean difference from the baseline with the same seed, and so with the same users "
            "and random draws; its 95% interval (Student's t); and the same in percent.",
        ),
        (
            "p",
            f"Uncorrected, and corrected for all comparisons of this study: {TESTS[test]}. {MARK} "
            "marks a corrected p below 0.05; the colour of a change follows the uncorrected p.",
        ),
        (
            "Effect, g_z",
            "The mean difference divided by the standard deviation of the differences (Cohen's "
            "d_z), corrected for its bias with few seeds (Hedges). It says how far a change stands "
            "out from the variation between seeds, not how much it matters to a user or an item. "
            "It can be very large, as policies with the same draws vary little.",
        ),
        (
            "Won–tied–lost",
            "In how many seeds the policy does better than the baseline, the same, and worse.",
        ),
    )
