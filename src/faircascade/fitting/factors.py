"""PBM and UBM fitted: a click has the probability attraction of an entry times examination of a
place, which is a position (PBM) or a position with the distance to the last click (UBM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from faircascade.fitting.click_table import Cells, totals
from faircascade.fitting.em import Optimum, Step, maximise
from faircascade.fitting.priors import Priors
from faircascade.types import Bools, Floats, Ints

MOST_ERRORS = 4096
"""Places of which standard errors are computed at most: the information is a full matrix."""
_SURE = 3.0
"""Standard errors by which a place must be looked at more than the first to be the one that all
others are compared with."""


class FactorFit(NamedTuple):
    """Attraction, examination, and what is known of them."""

    attraction: Floats
    examination: Floats
    """By place; that of `reference` is 1."""
    errors: Floats
    """Standard errors of examination, 0 for the reference, NaN where unknown, (p,)."""
    reference: int
    optimum: Optimum


@dataclass
class Factors:
    """Cells of a table, and EM steps on them."""

    cells: Cells
    entries: int
    places: int
    priors: Priors
    reference: int | None = None
    """The place whose examination is 1. Without it, attraction and examination are known up to a
    factor only, whatever the number of clicks."""

    def step(self, theta: Floats) -> Step:
        """Make an EM step; parameters are attraction, then examination."""
        from scipy.special import xlog1py, xlogy

        cells, priors = self.cells, self.priors
        w, kappa = theta[: self.entries], theta[self.entries :]
        here, looks = w[cells.entries], kappa[cells.places]
        both = here * looks
        unclicked = cells.impressions - cells.clicks
        likelihood = float(np.sum(xlogy(cells.clicks, both) + xlog1py(unclicked, -both)))
        likelihood += priors.attraction.log_density(w)
        free = np.delete(kappa, self.reference) if self.reference is not None else kappa
        likelihood += priors.others.log_density(free)
        missed = np.divide(unclicked, 1.0 - both, out=np.zeros_like(both), where=both < 1)
        attracted = cells.clicks + missed * here * (1.0 - looks)
        examined = cells.clicks + missed * looks * (1.0 - here)
        shown = cells.impressions
        better = priors.attraction.estimate(
            cells.of_entries(attracted, self.entries), cells.of_entries(shown, self.entries)
        )
        seen = priors.others.estimate(
            cells.of_places(examined, self.places), cells.of_places(shown, self.places)
        )
        if self.reference is not None:
            seen[self.reference] = 1.0
        return Step(likelihood, np.concatenate([better, seen]))

    def start(self) -> Floats:
        """Return examination in proportion to clicks, and attraction that goes with it."""
        cells = self.cells
        shown = cells.of_places(cells.impressions, self.places)
        rate = self.priors.others.estimate(cells.of_places(cells.clicks, self.places), shown)
        kappa = np.clip(rate / rate.max(), 0.05, 1.0)
        weight = cells.of_entries(cells.impressions * kappa[cells.places], self.entries)
        clicks = cells.of_entries(cells.clicks, self.entries)
        w = np.clip(self.priors.attraction.estimate(clicks, weight), 1e-6, 0.95)
        return np.concatenate([w, kappa])

    def errors(self, theta: Floats) -> Floats:
        """Return standard errors of examination from the Fisher information, attraction being
        estimated too, (p,); impressions count as independent."""
        cells, free = self.cells, np.arange(self.places) != self.reference
        found = np.where(free, np.nan, 0.0)
        w, kappa = theta[: self.entries], theta[self.entries :]
        here, looks = w[cells.entries], kappa[cells.places]
        weight = cells.impressions / np.maximum(here * looks * (1.0 - here * looks), 1e-300)
        of_entries = cells.of_entries(weight * looks**2, self.entries)
        of_places = cells.of_places(weight * here**2, self.places)
        known = np.flatnonzero(free & (of_places > 0))
        if len(known) > MOST_ERRORS:
            return found
        from scipy.sparse import csr_matrix

        crossed = csr_matrix(
            (weight * here * looks, (cells.entries, cells.places)), (self.entries, self.places)
        ).tocsc()[:, known]
        scale = np.divide(1.0, of_entries, out=np.zeros(self.entries), where=of_entries > 0)
        both = (crossed.T.multiply(scale) @ crossed).toarray()
        try:
            variance = np.diag(np.linalg.inv(np.diag(of_places[known]) - both))
        except np.linalg.LinAlgError:
            return found
        found[known] = np.sqrt(np.where(variance > 0, variance, np.nan))
        return found


def fit_factors(
    cells: Cells, entries: int, places: int, priors: Priors, *, first: int = 0, **options: Any
) -> FactorFit:
    """Fit by EM; the place `first` is taken as always looked at, unless another is looked at more
    often for sure, which then is the reference."""
    factors = Factors(cells, entries, places, priors)
    found = maximise(factors.step, factors.start(), **options).parameters
    kappa, clicks = found[entries:], cells.of_places(cells.clicks, places)
    factors.reference = reference = _reference(kappa, clicks, first)
    scale = kappa[reference]
    kappa = np.minimum(kappa / scale, 1.0)
    start = np.concatenate([found[:entries] * scale, kappa])
    optimum = maximise(factors.step, start, **options)
    theta = optimum.parameters
    return FactorFit(theta[:entries], theta[entries:], factors.errors(theta), reference, optimum)


def _reference(kappa: Floats, clicks: Floats, first: int) -> int:
    if clicks[first] == 0 or kappa[first] == 0:
        return int(np.argmax(np.where(clicks > 0, kappa, 0.0)))
    noise = np.sqrt(1.0 / clicks[first] + 1.0 / np.maximum(clicks, 1.0))
    surely = (clicks > 0) & (kappa > kappa[first] * np.exp(_SURE * noise))
    return int(np.argmax(np.where(surely, kappa, 0.0))) if surely.any() else first


def components(cells: Cells, entries: int, places: int) -> tuple[int, Bools]:
    """Return into how many parts that share no entry the places fall, and the places of the
    largest part, (p,).

    Examination of places in different parts cannot be compared: no entry stood in both.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    size = entries + places
    edges = (cells.entries, cells.places + entries)
    graph = csr_matrix((np.ones(len(cells.entries)), edges), (size, size))
    _, labels = connected_components(graph, directed=False)
    of_places: Ints = labels[entries:]
    shown = cells.of_places(cells.impressions, places)
    parts = np.unique(of_places[shown > 0])
    weights = totals(of_places, shown)
    return len(parts), of_places == parts[int(np.argmax(weights[parts]))]
