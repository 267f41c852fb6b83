"""What changes against the baseline, and whether that is more than luck."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from faircascade.experiment.comparison import higher_is_better
from faircascade.experiment.stats import LEVEL, TEST, Contrast, contrasts
from faircascade.experiment.study import World
from faircascade.report.reproduction.blocks import Line, Tone
from faircascade.report.tables import percent

MARK = "†"
"""Stands beside a change that is significant."""

Changes = Mapping[tuple[int, str, str], Contrast]
"""By place of the world, label and metric."""


def changes(worlds: Sequence[World], metrics: Sequence[str]) -> Changes:
    """Compare all policies with their baselines, corrected for the number of all comparisons."""
    return contrasts(
        {
            (place, label, metric): world.paired(label, metric)
            for place, world in enumerate(worlds)
            for label in world.runs
            for metric in metrics
            if label != world.baseline and world.runs[label] and world.runs[world.baseline]
        }
    )


def significant(change: Contrast) -> bool:
    """Return whether a change is more than luck, as far as the test can say."""
    return change.corrected < 1 - LEVEL


def change_lines(
    found: Changes, place: int, world: World, label: str, metric: str
) -> tuple[Line, ...]:
    """Return a policy's change as the last lines of a cell; none for the baseline."""
    if label == world.baseline or not world.runs[label]:
        return ()
    if not world.runs[world.baseline]:
        return (Line("no baseline yet", "soft"),)
    return (_line(found[place, label, metric], metric, len(world.runs[label])),)


def _line(change: Contrast, metric: str, seeds: int) -> Line:
    tone: Tone = "soft"
    spoken = []
    shown = percent(change.percent)
    if math.isfinite(change.percent) and shown != percent(0.0):
        tone = "better" if (change.percent > 0) == higher_is_better(metric) else "worse"
        spoken.append(f"{tone} than the baseline")
    if significant(change):
        shown += f" {MARK}"
        spoken.append("significant")
    if change.seeds < seeds:
        shown += f" ({change.seeds} {'pair' if change.seeds == 1 else 'pairs'})"
    return Line(f"change {shown}", tone, ", ".join(spoken))


def tested_words(found: Changes, worlds: Sequence[World]) -> str:
    """Say what changes are, how they were tested, or that they could not be."""
    against = " and ".join(dict.fromkeys(world.baseline for world in worlds))
    tested = [change for change in found.values() if not math.isnan(change.corrected)]
    words = f"Changes are in percent of {against}, over the seeds that both have."
    if len({world.rounds(label) for world in worlds for label in world.runs} - {0}) > 1:
        words += f" A policy that ran fewer rounds is held against {against} as it stood by then."
    if not tested:
        return f"{words} With one seed there is no interval, and nothing can be tested."
    count = sum(map(significant, tested))
    return (
        f"{words} {MARK} marks a change with p < {1 - LEVEL:.2g} ({TEST} for the {len(tested):,} "
        f"comparisons of this table): {count:,} of them."
    )
