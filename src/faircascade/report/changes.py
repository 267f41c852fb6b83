"""What changes against the baseline, and whether that is more than luck."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from faircascade.experiment.stats import (
    LEVEL,
    TESTS,
    Contrast,
    Test,
    contrasts,
    count_tested,
    too_few,
)
from faircascade.experiment.study_results import EnvironmentResults, pairs
from faircascade.metrics import higher_is_better
from faircascade.report.blocks import Line, Tone
from faircascade.report.formatting import BEST
from faircascade.report.numbers import percent

MARK = "†"
"""Stands beside a change that is significant."""

Changes = Mapping[tuple[int, str, str], Contrast]
"""By place of the environment, label and metric."""


def changes(
    environments: Sequence[EnvironmentResults], metrics: Sequence[str], test: Test
) -> Changes:
    """Compare all policies with their baselines, corrected for the number of all comparisons."""
    return contrasts(pairs(environments, metrics), test=test)


def significant(change: Contrast) -> bool:
    """Return whether a change is more than luck, as far as the test can say."""
    return change.corrected < 1 - LEVEL


def change_lines(
    found: Changes, place: int, environment: EnvironmentResults, label: str, metric: str
) -> tuple[Line, ...]:
    """Return a policy's change as the last lines of a cell; none for the baseline."""
    if label == environment.baseline or not environment.runs[label]:
        return ()
    if not environment.runs[environment.baseline]:
        return (Line("no baseline yet", "soft"),)
    change, seeds = found[place, label, metric], len(environment.runs[label])
    return (change_line(change, metric, seeds, lead="change "),)


def tone_of(change: Contrast, metric: str) -> Tone:
    """Return "better" or "worse", or nothing where the test finds no difference.

    With one seed there is no test, and the tone is that of the direction.
    """
    if not math.isfinite(change.percent) or percent(change.percent) == percent(0.0):
        return ""
    if change.p >= 1 - LEVEL:
        return ""
    return "better" if (change.percent > 0) == higher_is_better(metric) else "worse"


def change_line(change: Contrast, metric: str, seeds: int, *, lead: str = "") -> Line:
    """Return a change in percent, of a policy with so many seeds."""
    tone = tone_of(change, metric)
    shown = lead + percent(change.percent)
    spoken = [f"{tone} than the baseline"] if tone else []
    if significant(change):
        shown += f" {MARK}"
        spoken.append("significant")
    if change.seeds < seeds:
        shown += f" ({change.seeds} {'pair' if change.seeds == 1 else 'pairs'})"
    return Line(shown, tone or "soft", ", ".join(spoken))


def against_words(environments: Sequence[EnvironmentResults]) -> str:
    """Say what changes are measured against."""
    against = " and ".join(dict.fromkeys(environment.baseline for environment in environments))
    lengths = {e.rounds(label) for e in environments for label in e.finished}
    words = f"Changes are relative to {against}, over the seeds that both have."
    if len(lengths) > 1:
        words += f" A policy that ran fewer rounds is compared with {against} at that round."
    return words


def mark_terms(test: Test) -> list[tuple[str, str]]:
    """Return what the marks of all tables mean."""
    edge = f"{1 - LEVEL:.2g}"
    return [
        (BEST, "The best mean of its column, among the policies that ran longest."),
        (
            MARK,
            f"A significant change: p < {edge} after Holm's correction for all comparisons made "
            f"together ({TESTS[test]}).",
        ),
        (
            "Green and orange",
            f"A change for the better or for the worse with p < {edge} by the same test, before "
            "the correction. With one seed nothing can be tested, and the colour only shows the "
            "direction.",
        ),
        ("[a, b]", "A 95% interval of the mean over seeds (Student's t)."),
    ]


def tested_words(
    found: Changes, environments: Sequence[EnvironmentResults], test: Test, *, among: str
) -> str:
    """Say what changes are, how they were tested (among what), or that they could not be."""
    if all(len(environment.runs) == 1 for environment in environments):
        return "With one policy there is nothing to compare."
    if not found:
        return f"There is nothing to compare with {environments[0].baseline} yet."
    words = against_words(environments)
    tested, warning = count_tested(found), too_few(found, test)
    if not tested:
        return f"{words} {warning or 'No metric has a value that could be tested.'}"
    count = sum(map(significant, found.values()))
    return (
        f"{words} {MARK} marks a change with p < {1 - LEVEL:.2g} ({TESTS[test]} for the "
        f"{tested:,} comparisons of {among}): {count:,} of them. {warning}"
    ).rstrip()
