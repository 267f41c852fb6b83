"""Sections that have the same blocks for every environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.blocks import Block, Notice
from faircascade.report.formatting import environment_name

Draw = Callable[[EnvironmentResults, str, int], Sequence[Block]]
"""Called with an environment, its name on the page, and its number, from 1."""


def by_environment(study: StudyResults, draw: Draw) -> list[Block]:
    """Return the blocks of every environment with the seeds that its policies share."""
    blocks: list[Block] = []
    for place, environment in enumerate(study.matched, 1):
        name = environment_name(study, environment)
        if environment.finished:
            blocks += draw(environment, name, place)
        else:
            blocks.append(Notice("Not run yet", f"No policy is finished for {name}."))
    return blocks
