"""Sections of the page of an evaluation: the verdict first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator

from faircascade.evaluation.estimators import ESTIMATORS
from faircascade.evaluation.overlap import Overlap
from faircascade.evaluation.results import Evaluation, PolicyEvaluation
from faircascade.report.blocks import Group, Head, Lead, Line, Prose, Row, Section, Table, text
from faircascade.report.evaluation.figures import intervals_figure, weights_figure
from faircascade.report.numbers import number, percent, share, signed

_ANSWERS = {"enough": "Enough evidence", "not enough": "Not enough", "cannot": "Cannot answer"}


def sections(found: Evaluation) -> list[Section]:
    """Return all sections."""
    return [_verdicts(found), _clicks(found), _equality(found), _overlap(found), _agreement(found)]


def _verdicts(found: Evaluation) -> Section:
    several = len(found.policies) > 1
    words = [
        Lead(f"{policy.label}: {policy.verdict}" if several else str(policy.verdict))
        for policy in found.policies
    ]
    return Section("Verdict", [*words, _verdict_table(found)], "verdict")


def _verdict_table(found: Evaluation) -> Table:
    rows = []
    for policy in found.policies:
        one = policy[policy.main] if policy.main else None
        clicks = text("–") if one is None else _lines(one.value, one.low, one.high)
        change = text("–")
        if one is not None and one.logged:
            ends = [100 * end / one.logged for end in (one.difference_low, one.difference_high)]
            around = "" if math.isnan(ends[0]) else f"{percent(ends[0])} to {percent(ends[1])}"
            change = (
                Line(percent(100 * one.difference / one.logged), "strong"),
                *([Line(around, "soft")] if around else []),
            )
        equality = [_lines(e.value, e.low, e.high) for e in policy.equality]
        cells = (text(_ANSWERS[policy.verdict.answer]), clicks, change, *equality)
        rows.append(
            Row(policy.label, (*cells, *[text("–")] * (5 - len(cells))), tags=(policy.how,))
        )
    logged = Row(
        "The log itself",
        (
            text(""),
            _lines(found.clicks, found.clicks_low, found.clicks_high),
            text(""),
            *(text(number(e.logged)) for e in found.policies[0].equality),
        ),
    )
    if len(logged.cells) == 5:
        rows.append(logged)
    heads = (
        Head("Verdict", prose=True),
        Head("Clicks per slate"),
        Head("Against the log"),
        Head("Equality (B)"),
        Head("Equality (P)"),
    )
    return Table("", heads, (Group(tuple(rows)),))


def _clicks(found: Evaluation) -> Section:
    heads = (
        Head("Clicks per slate"),
        Head("Against the log"),
        Head("Assumes", prose=True),
    )
    groups = []
    for policy in found.policies:
        rows = [
            Row(
                one.title,
                (
                    _lines(one.value, one.low, one.high),
                    text(signed(one.difference, like=one.value)),
                    text(one.assumes if not one.why_not else f"Not possible: {one.why_not}."),
                ),
                tags=("the verdict rests on it",) if one.name == policy.main else (),
            )
            for one in policy.estimates
        ]
        groups.append(Group(tuple(rows), policy.label))
    table = Table("All estimators", heads, tuple(groups), corner="Estimator")
    notes = [Prose(f"{p.label}: {note}.", soft=True) for p in found.policies for note in p.notes]
    return Section("Clicks", [intervals_figure(found), table, *notes], "clicks")


def _equality(found: Evaluation) -> Section:
    heads = (Head("Estimate"), Head("In the log"), Head("Difference"), Head("How", prose=True))
    groups = [
        Group(
            tuple(
                Row(
                    one.title,
                    (
                        _lines(one.value, one.low, one.high),
                        text(number(one.logged)),
                        (
                            Line(signed(one.difference, like=one.value), "strong"),
                            *_interval(one.difference_low, one.difference_high),
                        ),
                        text(one.how),
                    ),
                )
                for one in policy.equality
            ),
            policy.label,
        )
        for policy in found.policies
        if policy.equality
    ]
    if not groups:
        words = "There are neither own slates of the policies nor weights to estimate it with."
        return Section("Exposure", [Prose(words)], "exposure")
    about = Prose(
        "How evenly items would be exposed, 1 for all alike: appearances (B), and weighed by "
        "position (P). What noise adds to inequality is taken out.",
        soft=True,
    )
    return Section(
        "Exposure", [Table("", heads, tuple(groups), corner="Metric"), about], "exposure"
    )


def _overlap(found: Evaluation) -> Section:
    heads = (
        Head("Could be shown", meaning="Mean weight: the share of what the policy would show"),
        Head("Effective impressions"),
        Head("Largest weight"),
        Head("Weight of the top 1%"),
    )
    groups = []
    for policy in found.policies:
        rows = [
            Row(
                overlap.kind.replace("_", " "),
                (
                    (Line(share(min(overlap.mass, 1.0)), "strong"), *_shares(overlap)),
                    (Line(number(overlap.effective), "strong"), Line(share(overlap.share), "soft")),
                    text(number(overlap.largest)),
                    text(share(overlap.top_share)),
                ),
            )
            for overlap in policy.overlaps
        ]
        if rows:
            groups.append(Group(tuple(rows), policy.label))
    if not groups:
        words = (
            "The log has no propensities that fit: there are no weights, and overlap is unknown."
        )
        return Section("Overlap", [Prose(words)], "overlap")
    figures = [
        figure
        for place, policy in enumerate(found.policies, start=1)
        if (figure := weights_figure(policy, place)) is not None
    ]
    table = Table("", heads, tuple(groups), corner="Weights of")
    return Section("Overlap", [table, *figures], "overlap")


def _agreement(found: Evaluation) -> Section:
    heads = (Head("Difference"), Head("Agree"))
    groups = [Group(tuple(_pairs(policy)), policy.label) for policy in found.policies]
    table = Table(
        "Pairs of estimators, over the same users",
        heads,
        tuple(group for group in groups if group.rows),
        corner="Pair",
        folded=True,
    )
    words = [Prose(f"{policy.label}: {_apart(policy)}") for policy in found.policies if policy.main]
    return Section("Agreement", [*words, table], "agreement")


def _apart(policy: PolicyEvaluation) -> str:
    main = ESTIMATORS[policy.main].title
    others = [ESTIMATORS[name].title for name in policy.disagreeing]
    if not others:
        return f"no estimator differs from {main} by more than chance."
    verb = "differs" if len(others) == 1 else "differ"
    return f"{', '.join(others)} {verb} from {main} by more than chance."


def _pairs(policy: PolicyEvaluation) -> Iterator[Row]:
    for pair in policy.agreements:
        titles = [ESTIMATORS[name].title for name in (pair.first, pair.second)]
        cells = (
            (Line(signed(pair.difference), "strong"), *_interval(pair.low, pair.high)),
            text("yes") if pair.agree else text("no", "worse"),
        )
        yield Row(" and ".join(titles), cells)


def _lines(value: float, low: float, high: float) -> tuple[Line, ...]:
    first = Line(number(value), "strong")
    if math.isnan(low):
        return (first,)
    return (first, Line(f"[{number(low, like=value)}, {number(high, like=value)}]", "soft"))


def _interval(low: float, high: float) -> tuple[Line, ...]:
    return () if math.isnan(low) else (Line(f"[{signed(low)}, {signed(high)}]", "soft"),)


def _shares(overlap: Overlap) -> tuple[Line, ...]:
    low, high = overlap.mass_low, overlap.mass_high
    return () if math.isnan(low) else (Line(f"[{share(low)}, {share(high)}]", "soft"),)
