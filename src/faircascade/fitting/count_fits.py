"""Click models fitted to aggregated counts: PBM exactly, sequential ones approximately."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.clicks import PBM
from faircascade.data.base import DataError
from faircascade.errors import ParameterError
from faircascade.fitting.click_counts import ClickCounts
from faircascade.fitting.click_table import Cells
from faircascade.fitting.factors import fit_factors
from faircascade.fitting.fitted import Candidate, FittedClickModel
from faircascade.fitting.fitters import NO_CLICKS, check_positions
from faircascade.fitting.mean_field import LEAST, CountData, CountFit, fit_mean_field
from faircascade.fitting.mean_field_models import FIELDS
from faircascade.fitting.priors import Priors, prior_words
from faircascade.fitting.scores import Scores, difference
from faircascade.types import Floats, Ints

_MANY = 1_000_000_000
"""Impressions of a cell from which on NumPy draws no hypergeometric numbers."""
NOT_FROM_COUNTS = "counts by position do not say where the last click above was"


def fit_counts(
    counts: ClickCounts,
    names: list[str] | None,
    *,
    held_out: float,
    smoothing: float,
    seed: int,
    iterations: int,
    tolerance: float,
) -> FittedClickModel:
    """Fit models to aggregated counts; None fits all that can be."""
    if not counts.cells.clicks.any():
        raise DataError(f"{counts.name}: {NO_CLICKS}")
    if not 0 <= seed < 1 << 128:
        raise ParameterError("seed", "must be between 0 and 2^128 - 1", seed)
    fit = _Fits(counts, smoothing, {"iterations": iterations, "tolerance": tolerance})
    train, held = _split(counts.cells, held_out, seed)
    if not len(train.entries):
        raise DataError(f"{counts.name}: everything is held out; try a smaller held_out=")
    tried: dict[str, tuple[CountFit, Scores | None, Floats]] = {}
    refused: dict[str, str] = {}
    wanted = [*FIELDS, "pbm", "ubm"] if names is None else names
    for name in wanted:
        try:
            found = fit.one(name, train)
        except DataError as error:
            if len(wanted) == 1:
                raise DataError(f"{counts.name}: {error}") from None
            refused[name] = str(error)
        else:
            tried[name] = found, *_scored(found, held, counts.k)
    if not tried:
        raise DataError(f"{counts.name}: no model could be fitted: {next(iter(refused.values()))}")
    if len(tried) > 1 and held is None:
        raise DataError(
            f"{counts.name}: no impression was held out to compare models by; name a model, or try "
            "a larger held_out="
        )
    candidates = _ranked(tried, refused, held, fit.contexts)
    best = candidates[0].name
    final = tried[best][0] if held is None else fit.one(best, counts.cells)
    return fit.fitted(best, final, tried[best][1], candidates)


class _Fits:
    """What all fits to a table of counts have in common."""

    def __init__(self, counts: ClickCounts, smoothing: float, options: dict[str, Any]) -> None:
        self.counts, self.smoothing, self.options = counts, smoothing, options
        self.entries = len(counts.entries)
        codes = counts.entries.contexts
        self.contexts = np.zeros(self.entries, dtype=np.int64) if codes is None else codes
        self.click_rate = float(counts.cells.clicks.sum() / max(counts.impressions, 1))
        self.priors = Priors.of(smoothing, self.click_rate)

    def one(self, name: str, cells: Cells) -> CountFit:
        """Fit one model to cells."""
        if name == "pbm":
            return self._pbm(cells)
        if name not in FIELDS:
            raise DataError(f"{name} cannot be fitted: {NOT_FROM_COUNTS}")
        data = CountData(cells, self.contexts, self.entries, self.counts.k)
        return fit_mean_field(FIELDS[name], data, self.priors, **self.options)

    def _pbm(self, cells: Cells) -> CountFit:
        k = self.counts.k
        check_positions("pbm", cells, self.entries, k)
        found = fit_factors(cells, self.entries, k, self.priors, **self.options)
        w, kappa = found.attraction, found.examination

        def predicted(some: Cells) -> Floats:
            return w[some.entries] * kappa[some.places]

        model = PBM(kappa=tuple(kappa.tolist()))
        return CountFit(model, w, predicted, found.optimum, {"kappa": found.errors})

    def fitted(
        self, name: str, fit: CountFit, scores: Scores | None, candidates: tuple[Candidate, ...]
    ) -> FittedClickModel:
        counts, cells = self.counts, self.counts.cells
        notes = [
            *counts.notes,
            "fitted to counts: an impression is an item at a position, not a whole slate",
        ]
        if name in FIELDS:
            notes.append("the other items of a slate are known by their means only (mean field)")
        return FittedClickModel(
            name=name,
            click_model=fit.model,
            item_ids=counts.item_ids[counts.entries.items],
            context_ids=counts.context_ids,
            attraction=fit.attraction,
            impressions=cells.of_entries(cells.impressions, self.entries).astype(np.int64),
            clicks=cells.of_entries(cells.clicks, self.entries).astype(np.int64),
            total=counts.impressions,
            k=counts.k,
            scores=scores,
            errors=fit.errors,
            iterations=fit.optimum.steps,
            converged=fit.optimum.converged,
            objectives=tuple(fit.optimum.objectives),
            prior=prior_words(self.smoothing, self.click_rate),
            candidates=candidates,
            notes=tuple(notes),
        )


def _split(cells: Cells, share: float, seed: int) -> tuple[Cells, Cells | None]:
    """Hold out a share of the impressions of each cell, drawn without replacement."""
    if not share:
        return cells, None
    luck = np.random.default_rng(seed)
    shown, clicks = cells.impressions.astype(np.int64), cells.clicks.astype(np.int64)
    if shown.max(initial=0) < _MANY:
        size = luck.binomial(shown, share)
        hits = luck.hypergeometric(clicks, shown - clicks, size)
    else:
        hits = luck.binomial(clicks, share)
        size = hits + luck.binomial(shown - clicks, share)
    held = cells._replace(impressions=size.astype(np.float64), clicks=hits.astype(np.float64))
    rest = cells._replace(
        impressions=cells.impressions - held.impressions, clicks=cells.clicks - held.clicks
    )
    held = held.used()
    return rest.used(), held if len(held.entries) else None


def _scored(fit: CountFit, held: Cells | None, k: int) -> tuple[Scores | None, Floats]:
    """Return scores on held-out cells, and the log-likelihood of each cell."""
    if held is None:
        return None, np.zeros(0)
    p = np.clip(fit.predicted(held), LEAST, 1.0 - 1e-15)
    each = held.clicks * np.log(p) + (held.impressions - held.clicks) * np.log1p(-p)
    shown = held.of_places(held.impressions, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        perplexity = np.exp(-held.of_places(each, k) / shown)
        rates = held.of_places(held.clicks, k) / shown
        predicted = held.of_places(p * held.impressions, k) / shown
    unknown = np.full(k, np.nan)
    scores = Scores(
        impressions=int(shown.sum()),
        log_likelihood=float(each.sum() / shown.sum()),
        perplexity=float(perplexity[shown > 0].mean()),
        perplexity_by_position=perplexity,
        conditional_perplexity=float("nan"),
        conditional_perplexity_by_position=unknown,
        clicks_by_position=rates,
        predicted_by_position=predicted,
        shown_by_position=shown.astype(np.int64),
    )
    return scores, each


def _ranked(
    tried: dict[str, tuple[CountFit, Scores | None, Floats]],
    refused: dict[str, str],
    held: Cells | None,
    contexts: Ints,
) -> tuple[Candidate, ...]:
    """Return all models, the best first; contexts are what differs by chance."""

    def quality(name: str) -> float:
        scores = tried[name][1]
        return -np.inf if scores is None else scores.log_likelihood

    ranked = sorted(tried, key=quality, reverse=True)
    found = []
    for name in ranked:
        fit, scores, each = tried[name]
        behind = None
        if held is not None and name != ranked[0]:
            best = tried[ranked[0]][2]
            behind = difference(each, best, contexts[held.entries], held.impressions)
        steps, converged = fit.optimum.steps, fit.optimum.converged
        found.append(
            Candidate(
                name=name, scores=scores, behind=behind, iterations=steps, converged=converged
            )
        )
    rest = [Candidate(name=name, refused=why, converged=False) for name, why in refused.items()]
    return (*found, *rest)
