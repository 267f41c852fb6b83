"""Fit click models to a log, and choose the one that predicts best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.log import Log
from faircascade.errors import ParameterError, check_choice
from faircascade.fitting.click_counts import ClickCounts
from faircascade.fitting.count_fits import fit_counts
from faircascade.fitting.em import ITERATIONS, TOLERANCE
from faircascade.fitting.entries import Entries
from faircascade.fitting.fitted import Candidate, FittedClickModel
from faircascade.fitting.fitters import FITTERS, NO_CLICKS, Fit, Method, Task
from faircascade.fitting.priors import Priors, prior_words
from faircascade.fitting.scores import Scored, Scores, difference, score
from faircascade.fitting.statistics import Sample, Statistics, sample_of, statistics_of
from faircascade.parameters import checked_arguments

AUTO = "auto"
NOTHING_HELD_OUT = "no user was held out to compare models by"
MORE_HELD_OUT = "if there are several users, try another seed or a larger held_out="
By = Literal["item", "context"]


@checked_arguments
def fit_click_model(
    log: Any,
    model: str = AUTO,
    *,
    by: By | None = None,
    method: Method = "em",
    held_out: float = 0.2,
    smoothing: float = 1.0,
    seed: int = 0,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    progress: Any = None,
    **columns: Any,
) -> FittedClickModel:
    """Fit a click model to a log by maximum likelihood.

    Args:
        log: A `Log`, or what it takes; or `ClickCounts`, aggregated counts by position.
        model: The name of a click model, `sdbn` (`dbn` with continuation 1), or "auto", which
            fits all that can be fitted and takes the one of the highest held-out log-likelihood.
        by: Attraction is that of an "item", or that of an item in a "context" such as a query,
            which is the default where the log has a column of contexts (`context=`).
        method: "em", or "counting" (cascade, dcm, sdbn), which takes it that users stop at their
            last click: quicker, and not quite right, see the page on fitting.
        held_out: Share of the users whose impressions measure how well models predict; then the
            parameters are fitted once more to all impressions. At most 1,000,000 impressions.
        smoothing: Imagined impressions for each parameter, clicked at the click rate of the log;
            parameters that are not attraction succeed in half of them. 0 is maximum likelihood.
        seed: Of what is held out.
        iterations: E-steps at most.
        tolerance: EM ends when there is less than this left to gain in log-likelihood.
        progress: Called with what is read, how much and of how much.
        columns: Those of `Log`, if `log` is not one: `user=`, `item=`, `context=`, ...
    """
    names = names_of(model)
    _check_numbers(held_out, smoothing, iterations, tolerance)
    if model == AUTO and held_out == 0:
        rule = "must be above 0, or model must name one: models are compared by what is held out"
        raise ParameterError("held_out", rule, held_out)
    options: dict[str, Any] = {"iterations": iterations, "tolerance": tolerance}
    if isinstance(log, ClickCounts):
        _check_for_counts(method, by, columns)
        wanted = None if model == AUTO else names
        return fit_counts(log, wanted, held_out=held_out, smoothing=smoothing, seed=seed, **options)
    opened = _opened(log, columns)
    entries = Entries(_by_context(opened, by))
    sample = sample_of(
        opened,
        entries,
        held_out=held_out,
        seed=seed,
        keep_tails=any(FITTERS[name].needs_tails for name in names),
        progress=progress,
    )
    check_sample(sample, opened.name)
    fitting = Fitting(sample, len(entries), smoothing, method, options)
    return fitting.chosen(names, opened.name).fitted(opened, entries, smoothing)


class Fitting(NamedTuple):
    """Models fitted to a sample."""

    sample: Sample
    items: int
    smoothing: float = 1.0
    method: Method = "em"
    options: Mapping[str, Any] = {}

    def chosen(self, names: Sequence[str], log_name: str) -> Chosen:
        """Fit models, and return the best, fitted to all impressions."""
        tried: dict[str, tuple[Fit, Scored | None]] = {}
        refused: dict[str, str] = {}
        for name in names:
            try:
                fit = self.fit(name)
            except DataError as error:
                if len(names) == 1:
                    raise DataError(f"{log_name}: {error}") from None
                refused[name] = str(error)
            else:
                tried[name] = fit, self.score(fit)
        if not tried:
            raise DataError(f"{log_name}: no model could be fitted: {next(iter(refused.values()))}")
        if len(tried) > 1 and self.sample.held_out is None:
            raise DataError(f"{log_name}: {NOTHING_HELD_OUT}; name a model, or {MORE_HELD_OUT}")
        candidates = candidates_of(tried, refused)
        best = candidates[0].name
        fit, scored = tried[best]
        everything = self.sample.train
        if scored is not None:
            everything = self._everything()
            fit = self.fit(best, everything)
        scores = None if scored is None else scored.scores
        return Chosen(best, fit, everything, self.sample.k, scores, candidates)

    def fit(self, name: str, data: Statistics | None = None) -> Fit:
        """Fit one to what is not held out, or to other data."""
        sample = self.sample
        data = sample.train if data is None else data
        priors = Priors.of(self.smoothing, data.click_rate)
        entries = len(sample.coding)
        task = Task(data, entries, self.items, sample.k, priors, self.method, self.options)
        return FITTERS[name].fit(task)

    def score(self, fit: Fit) -> Scored | None:
        """Predict what is held out, if something is."""
        held = self.sample.held_out
        return None if held is None else score(fit.model, fit.attraction, held, self.sample.k)

    def _everything(self) -> Statistics:
        held, train, coding = self.sample.held_out, self.sample.train, self.sample.coding
        assert held is not None
        rest = statistics_of(held, coding, keep_tails=train.tails is not None)
        return train.joined(rest).finished(len(coding), self.sample.k)


class Chosen(NamedTuple):
    """The model that predicts best."""

    name: str
    fit: Fit
    data: Statistics
    k: int
    scores: Scores | None
    candidates: tuple[Candidate, ...]

    def fitted(self, log: Log, entries: Entries, smoothing: float) -> FittedClickModel:
        """Return it with all that it rests on."""
        fit, data = self.fit, self.data
        shown, clicks = data.table.totals
        notes = [*log.notes, *fit.notes]
        if not fit.optimum.converged:
            notes.append(f"EM did not converge in {fit.optimum.steps} steps: give more iterations")
        contexts = entries.contexts
        return FittedClickModel(
            name=self.name,
            click_model=fit.model,
            item_ids=log.item_ids[entries.items],
            context_ids=None if contexts is None else log.context_ids[contexts],
            attraction=fit.attraction,
            impressions=shown,
            clicks=clicks,
            total=data.impressions,
            k=self.k,
            entry_parameters=fit.entry_parameters,
            scores=self.scores,
            errors=fit.errors,
            iterations=fit.optimum.steps,
            converged=fit.optimum.converged,
            objectives=tuple(fit.optimum.objectives),
            prior=prior_words(smoothing, data.click_rate),
            candidates=self.candidates,
            notes=tuple(notes),
        )


def candidates_of(
    tried: Mapping[str, tuple[Fit, Scored | None]], refused: Mapping[str, str]
) -> tuple[Candidate, ...]:
    """Return all models, the best first."""

    def quality(name: str) -> float:
        scored = tried[name][1]
        return -np.inf if scored is None else scored.scores.log_likelihood

    ranked = sorted(tried, key=quality, reverse=True)
    best = tried[ranked[0]][1]
    found = []
    for name in ranked:
        fit, scored = tried[name]
        behind = None
        if scored is not None and best is not None and name != ranked[0]:
            behind = difference(scored.log_likelihoods, best.log_likelihoods, scored.users)
        found.append(
            Candidate(
                name=name,
                scores=None if scored is None else scored.scores,
                behind=behind,
                iterations=fit.optimum.steps,
                converged=fit.optimum.converged,
            )
        )
    rest = [Candidate(name=name, refused=why, converged=False) for name, why in refused.items()]
    return (*found, *rest)


def names_of(model: str) -> list[str]:
    """Return what is fitted if a model, or "auto", is asked for."""
    check_choice("model", model, (AUTO, *FITTERS))
    return list(FITTERS) if model == AUTO else [model]


def check_sample(sample: Sample, log_name: str) -> None:
    """Refuse a log without clicks, and one of which everything is held out."""
    held, train = sample.held_out, sample.train
    if not train.table.totals[1].any() and (held is None or not held.clicks.any()):
        raise DataError(f"{log_name}: {NO_CLICKS}")
    if not train.impressions:
        raise DataError(
            f"{log_name}: all users are held out, and none are left to fit to; try another seed or "
            "a smaller held_out="
        )


def _check_numbers(held_out: float, smoothing: float, iterations: int, tolerance: float) -> None:
    if not 0 <= held_out < 1:
        raise ParameterError("held_out", "must be at least 0 and below 1", held_out)
    if smoothing < 0:
        raise ParameterError("smoothing", "must be at least 0", smoothing)
    if iterations < 1:
        raise ParameterError("iterations", "must be at least 1", iterations)
    if tolerance <= 0:
        raise ParameterError("tolerance", "must be above 0", tolerance)


def _check_for_counts(method: Method, by: By | None, columns: Mapping[str, Any]) -> None:
    """Refuse what is about logs."""
    if method != "em":
        raise ParameterError("method", "must be 'em' for counts", method)
    if by is not None:
        rule = "must be left out: counts are by context if they have a column of contexts"
        raise ParameterError("by", rule, by)
    for name, value in columns.items():
        raise ParameterError(name, "must be left out: the counts are open already", value)


def _opened(log: Any, columns: dict[str, Any]) -> Log:
    if isinstance(log, Log):
        if columns:
            rule = "must be left out: the log is open already"
            raise ParameterError(next(iter(columns)), rule, next(iter(columns.values())))
        return log
    return Log(log, **columns)


def _by_context(log: Log, by: By | None) -> bool:
    if by == "context" and not log.has_contexts:
        rule = "must be 'item', or the log must be opened with context= (a column)"
        raise ParameterError("by", rule, by)
    return log.has_contexts if by is None else by == "context"
