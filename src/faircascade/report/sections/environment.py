"""What users are like: facts about the environment that decide what policies can achieve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from faircascade.environment.facts import EnvironmentFacts
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.blocks import Block, Listing, Notice
from faircascade.report.sections.by_environment import by_environment


def no_facts(study: StudyResults) -> str:
    """Runs of older releases did not keep them."""
    finished = [environment for environment in study.matched if environment.finished]
    kept = not finished or any(_facts(environment) for environment in finished)
    return "" if kept else "the runs are of a release that did not keep them"


def environment(study: StudyResults) -> list[Block]:
    """Popularity and attraction, what slates are worth, and what decides the outcome."""
    return by_environment(study, lambda found, name, _: _blocks(found, name))


def _blocks(found: EnvironmentResults, name: str) -> Sequence[Block]:
    facts = _facts(found)
    if not facts:
        return []
    runs = found.runs[found.finished[0]]
    cautions = dict.fromkeys(
        c for run in runs for c in run.about["environment"].get("cautions", ())
    )
    return [
        Listing(f"Facts about the environment, {name}", tuple(_mean(facts).lines())),
        *(Notice("Mind", f"{caution}.") for caution in cautions),
    ]


def _facts(found: EnvironmentResults) -> list[Mapping[str, Any]]:
    runs = found.runs[found.finished[0]] if found.finished else ()
    return [run.about["facts"] for run in runs if run.about.get("facts")]


def _mean(facts: Sequence[Mapping[str, Any]]) -> EnvironmentFacts:
    """Return the mean over seeds."""
    means: dict[str, Any] = {
        name: float(np.mean([math.nan if f[name] is None else f[name] for f in facts]))
        for name in facts[0]
    }
    means |= {name: round(means[name]) for name in ("items", "eligible")}
    return EnvironmentFacts(**means)
