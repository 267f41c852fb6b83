"""The sections that a page can have, by the names of `show = [...]`: one module each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faircascade.errors import ParameterError, check_choice
from faircascade.experiment.spec import Spec
from faircascade.experiment.stats import Test
from faircascade.experiment.study_results import StudyResults
from faircascade.report.blocks import Block, Notice, Section
from faircascade.report.sections.answer import answer
from faircascade.report.sections.changes import changes
from faircascade.report.sections.curves import curves
from faircascade.report.sections.environment import environment, no_facts
from faircascade.report.sections.equality import equality
from faircascade.report.sections.exploration import exploration, no_bonus
from faircascade.report.sections.exposure import exposure
from faircascade.report.sections.gammas import gammas
from faircascade.report.sections.groups import groups, no_groups
from faircascade.report.sections.items import items
from faircascade.report.sections.others import no_others, others
from faircascade.report.sections.pareto import pareto
from faircascade.report.sections.published import published
from faircascade.report.sections.regret_bound import bound
from faircascade.report.sections.rewards import rewards
from faircascade.report.sections.setup import setup
from faircascade.report.sections.statistics import statistics
from faircascade.report.sections.table import table


def always(study: StudyResults) -> str:
    """Every study has what it takes."""
    return ""


def one_policy(study: StudyResults) -> str:
    """A comparison takes two."""
    return "there is one policy" if len(study.lines) == 1 else ""


def one_seed(study: StudyResults) -> str:
    """Intervals and tests take two seeds of something."""
    counts = [len(runs) for e in study.matched for runs in e.runs.values()]
    return "there is one seed" if max(counts, default=0) == 1 else ""


@dataclass(frozen=True)
class SectionKind:
    """A section, and what it asks of a study."""

    title: str
    build: Callable[..., Sequence[Block]]
    tested: bool = False
    """True if it says which changes are significant, by a test that the page chooses."""
    simulated: bool = True
    """False if it needs no simulation."""
    why_not: Callable[[StudyResults], str] = always
    """Why it cannot be drawn from what a study has; nothing if it can."""

    def of(self, study: StudyResults, test: Test = "t") -> Section:
        """Return the section of a study."""
        if self.simulated and not study.environments:
            return Section(self.title, [Notice("Not run yet", "Nothing is simulated here.")])
        chosen: dict[str, Any] = {"test": test} if self.tested else {}
        return Section(self.title, self.build(study, **chosen))


SECTIONS: Mapping[str, SectionKind] = {
    "answer": SectionKind("What fairness costs", answer, why_not=one_policy),
    "table": SectionKind("Results", table, tested=True),
    "changes": SectionKind("Changes by environment", changes, tested=True),
    "pareto": SectionKind("Clicks against fairness", pareto, why_not=one_policy),
    "curves": SectionKind("By round", curves),
    "exploration": SectionKind("Exploration", exploration, why_not=no_bonus),
    "exposure": SectionKind("How exposure is shared", exposure),
    "items": SectionKind("What changes for each item", items, why_not=one_policy),
    "groups": SectionKind("Groups of items", groups, tested=True, why_not=no_groups),
    "others": SectionKind("Other metrics", others, tested=True, why_not=no_others),
    "statistics": SectionKind("Statistics", statistics, tested=True, why_not=one_seed),
    "environment": SectionKind("What users are like", environment, why_not=no_facts),
    "setup": SectionKind("What was run", setup),
    "equality": SectionKind("Equality by round", equality),
    "gammas": SectionKind("Clicks and fairness by strength of the penalty", gammas),
    "rewards": SectionKind("What a click is worth", rewards, simulated=False),
    "bound": SectionKind("The bound and the regret", bound),
    "published": SectionKind("Against the published numbers", published, tested=True),
}
"""By the name that a spec gives."""


def check_show(spec: Spec) -> None:
    """Refuse a spec that asks for a section there is not."""
    for place, name in enumerate(spec.show):
        try:
            check_names([name])
        except ParameterError as error:
            raise spec.error(str(error), "show", place) from None


def check_names(show: Iterable[str]) -> None:
    """Refuse the name of a section that there is not."""
    for name in show:
        check_choice("show", name, SECTIONS)
