"""The click models that can be fitted to impressions, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from faircascade.clicks import PBM, UBM, Cascade, ClickModel
from faircascade.data.base import DataError
from faircascade.errors import ParameterError
from faircascade.fitting.chain import (
    Chain,
    ClickChain,
    DependentClicks,
    DynamicBayesian,
    SimplifiedDynamicBayesian,
)
from faircascade.fitting.click_table import Cells
from faircascade.fitting.em import Optimum
from faircascade.fitting.factors import components, fit_factors
from faircascade.fitting.priors import Priors
from faircascade.fitting.statistics import Statistics
from faircascade.types import Bools, Floats

Method = Literal["em", "counting"]
NO_CLICKS = "there are no clicks in it, so that nothing can be fitted"
_FEW = 0.01
"""Share of impressions at places that cannot be compared with the others, for UBM."""


class Fit(NamedTuple):
    """A click model with attraction of entries."""

    model: ClickModel
    """Of entries: where each has parameters of its own, in their order."""
    attraction: Floats
    optimum: Optimum
    errors: Mapping[str, Any] = {}
    """Standard errors of parameters, where they are known, in the shape of the parameters."""
    notes: tuple[str, ...] = ()
    entry_parameters: tuple[str, ...] = ()
    """Parameters of the model that have a value for each entry, or item where entries are none."""


@dataclass(frozen=True)
class Task:
    """What a fitter is given."""

    data: Statistics
    entries: int
    items: int
    """Items that may satisfy users, where entries are none."""
    k: int
    priors: Priors
    method: Method = "em"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of EM."""


class Fitter:
    """Fits one click model."""

    name: ClassVar[str]
    can_count: ClassVar[bool] = False
    """True if the parameters can be had by counting, without EM."""
    needs_tails: ClassVar[bool] = False
    """True if it needs the slates, not just counts."""
    needs_slates: ClassVar[bool] = True
    """True if all positions of a slate must be known."""
    complexity: ClassVar[int] = 1
    """0 without parameters, 1 if they are few, 2 if they are many, 3 if there are more kinds."""

    def fit(self, task: Task) -> Fit:
        """Fit the model, or say why it cannot be."""
        data = task.data
        if task.method == "counting" and not self.can_count:
            able = ", ".join(name for name, fitter in FITTERS.items() if fitter.can_count)
            raise ParameterError("method", f"must be 'em', except for {able}", task.method)
        if self.needs_slates and data.gaps:
            raise DataError(
                f"{self.name} needs whole slates: {data.gaps:,} of {data.impressions:,} slates "
                "have a position of which nothing is known; pbm does without"
            )
        if self.needs_tails and data.tails is None:
            raise DataError(
                f"{self.name} keeps the slates in memory, and these are too many; pbm and ubm need "
                "counts only, or fit a part of the log"
            )
        return self._fit(task)

    def _fit(self, task: Task) -> Fit:
        raise NotImplementedError


class CascadeFitter(Fitter):
    name = "cascade"
    can_count = True
    complexity = 0

    def _fit(self, task: Task) -> Fit:
        data = task.data
        if data.several:
            raise DataError(
                f"cascade has at most one click a slate: {data.several:,} of {data.impressions:,} "
                "impressions have more; fit dcm, which is a cascade with stop = 1"
            )
        cells = data.table.before_a_click()
        clicks = cells.of_entries(cells.clicks, task.entries)
        seen = cells.of_entries(cells.impressions, task.entries)
        w = task.priors.attraction.estimate(clicks, seen)
        return Fit(Cascade(), w, Optimum(w, steps=1, converged=True))


class ChainFitter(Fitter):
    needs_tails = True
    chain: ClassVar[type[Chain]]

    def _fit(self, task: Task) -> Fit:
        assert task.data.tails is not None
        tails, heads = task.data.tails, task.entries
        if self.chain.entry_parameters and task.data.item_tails is not None:
            tails, heads = task.data.item_tails, task.items
        chain = self.chain(tails, task.entries, heads, task.k, task.priors)
        if task.method == "counting":
            theta = chain.counting()
            optimum = Optimum(theta, steps=1, converged=True)
        else:
            optimum = chain.fit(**task.options)
            theta = optimum.parameters
        return Fit(
            chain.model(theta),
            theta[: task.entries],
            optimum,
            entry_parameters=chain.entry_parameters,
        )


class DCMFitter(ChainFitter):
    name, chain, can_count = "dcm", DependentClicks, True


class SDBNFitter(ChainFitter):
    name, chain, can_count = "sdbn", SimplifiedDynamicBayesian, True
    complexity = 2


class DBNFitter(ChainFitter):
    name, chain = "dbn", DynamicBayesian
    complexity = 3


class CCMFitter(ChainFitter):
    name, chain = "ccm", ClickChain


class PBMFitter(Fitter):
    name = "pbm"
    needs_slates = False

    def _fit(self, task: Task) -> Fit:
        cells = task.data.table.by_position()
        check_positions(self.name, cells, task.entries, task.k)
        found = fit_factors(cells, task.entries, task.k, task.priors, **task.options)
        model = PBM(kappa=tuple(found.examination.tolist()))
        notes = _reference_note(found.reference, "position")
        return Fit(model, found.attraction, found.optimum, {"kappa": found.errors}, notes)


class UBMFitter(Fitter):
    name = "ubm"
    complexity = 2

    def _fit(self, task: Task) -> Fit:
        table = task.data.table
        check_positions(self.name, table.by_position(), task.entries, task.k)
        cells, places = table.by_place(), table.places
        _, main = components(cells, task.entries, places)
        shown = cells.of_places(cells.impressions, places)
        apart = float(shown[~main].sum() / shown.sum())
        if apart > _FEW:
            raise DataError(
                f"ubm: {apart:.0%} of the impressions are at positions and distances to the last "
                "click that share no item with the others, so that examination cannot be compared"
            )
        found = fit_factors(cells, task.entries, places, task.priors, **task.options)
        model = UBM(kappa=_rows(found.examination, task.k))
        rare = int((~main | (shown == 0)).sum())
        notes = [*_reference_note(found.reference, "position and distance")]
        if rare:
            notes.append(f"{rare} of {places} positions and distances say nothing: prior alone")
        errors = {"kappa": _rows(found.errors, task.k)}
        return Fit(model, found.attraction, found.optimum, errors, tuple(notes))


FITTERS: dict[str, Fitter] = {
    fitter.name: fitter
    for fitter in (
        CascadeFitter(),
        DCMFitter(),
        SDBNFitter(),
        DBNFitter(),
        PBMFitter(),
        UBMFitter(),
        CCMFitter(),
    )
}
"""By name: those of click models, and `sdbn`, which is `dbn` with continuation 1."""


def check_positions(name: str, cells: Cells, entries: int, k: int) -> None:
    """Refuse data in which examination of positions cannot be told from attraction of entries."""
    parts, main = components(cells, entries, k)
    if parts == 1:
        return
    shown = cells.of_places(np.ones(len(cells.places)), k) > 0
    raise DataError(
        f"{name} cannot tell attraction from examination: no item stood both at "
        f"{_names(main & shown)} and at {_names(~main & shown)}; "
        "show some items at several positions"
    )


def _names(positions: Bools) -> str:
    numbers = (np.flatnonzero(positions) + 1).tolist()
    if len(numbers) == 1:
        return f"position {numbers[0]}"
    listed = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
    return f"positions {listed}"


def _reference_note(reference: int, what: str) -> tuple[str, ...]:
    if reference == 0:
        return ()
    return (f"{what} number {reference + 1} is looked at most, and taken as always looked at",)


def _rows(values: Floats, k: int) -> tuple[tuple[float, ...], ...]:
    """Return values of places as rows, one for each position."""
    starts = np.arange(k) * np.arange(1, k + 1) // 2
    return tuple(tuple(values[s : s + n].tolist()) for n, s in enumerate(starts.tolist(), 1))
