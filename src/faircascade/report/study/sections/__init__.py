"""The sections that a spec can ask for with `show = [...]`: one module each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from faircascade.errors import ParameterError, suggest
from faircascade.experiment.spec import Spec
from faircascade.experiment.stats import Test
from faircascade.experiment.study import Study
from faircascade.report.study.blocks import Section
from faircascade.report.study.sections.changes import changes
from faircascade.report.study.sections.curves import curves
from faircascade.report.study.sections.equality import equality
from faircascade.report.study.sections.exploration import exploration
from faircascade.report.study.sections.gammas import gammas
from faircascade.report.study.sections.items import items
from faircascade.report.study.sections.pareto import pareto
from faircascade.report.study.sections.published import published
from faircascade.report.study.sections.regret_bound import bound
from faircascade.report.study.sections.rewards import rewards
from faircascade.report.study.sections.statistics import statistics
from faircascade.report.study.sections.table import table

TESTED: Mapping[str, Callable[[Study, Test], Section]] = {
    "table": table,
    "changes": changes,
    "published": published,
    "statistics": statistics,
}
"""Those that say which changes are significant, by a test that the page chooses."""

SECTIONS: Mapping[str, Callable[[Study], Section]] = {
    "table": table,
    "changes": changes,
    "pareto": pareto,
    "curves": curves,
    "statistics": statistics,
    "items": items,
    "exploration": exploration,
    "equality": equality,
    "gammas": gammas,
    "rewards": rewards,
    "bound": bound,
    "published": published,
}
"""By the name that a spec gives."""


def build_section(name: str, study: Study, test: Test = "t") -> Section:
    """Return a section of a study."""
    return TESTED[name](study, test) if name in TESTED else SECTIONS[name](study)


def check_show(spec: Spec) -> None:
    """Refuse a spec that asks for a section there is not."""
    for place, name in enumerate(spec.show):
        if name not in SECTIONS:
            rule = f"must be one of {', '.join(SECTIONS)}{suggest(str(name), SECTIONS)}"
            raise spec.error(str(ParameterError("show", rule, name)), "show", place)
