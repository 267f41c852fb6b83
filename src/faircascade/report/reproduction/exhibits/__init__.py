"""The exhibits that a spec can ask for with `show = [...]`: one module each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from faircascade.experiment.spec import Spec, SpecError
from faircascade.experiment.study import Study
from faircascade.registry import suggest
from faircascade.report.reproduction.blocks import Section
from faircascade.report.reproduction.exhibits.bound import bound
from faircascade.report.reproduction.exhibits.equality import equality
from faircascade.report.reproduction.exhibits.exploration import exploration
from faircascade.report.reproduction.exhibits.gammas import gammas
from faircascade.report.reproduction.exhibits.items import items
from faircascade.report.reproduction.exhibits.published import published
from faircascade.report.reproduction.exhibits.rewards import rewards
from faircascade.report.reproduction.exhibits.table import table

EXHIBITS: Mapping[str, Callable[[Study], Section]] = {
    "rewards": rewards,
    "exploration": exploration,
    "published": published,
    "equality": equality,
    "items": items,
    "gammas": gammas,
    "bound": bound,
    "table": table,
}
"""By the name that a spec gives."""


def check_show(spec: Spec) -> None:
    """Refuse a spec that asks for an exhibit there is not."""
    for name in spec.show:
        if name not in EXHIBITS:
            raise SpecError(
                f"{spec.where}: show has no {name!r}{suggest(str(name), EXHIBITS)} "
                f"(it has: {', '.join(EXHIBITS)})"
            )
