"""How users click and what they like, fitted together to a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.data.base import DataError
from faircascade.data.log import Log
from faircascade.fitting.entries import Coding, Entries
from faircascade.fitting.fit import (
    MORE_HELD_OUT,
    NOTHING_HELD_OUT,
    Fitting,
    candidates_of,
    check_sample,
    names_of,
)
from faircascade.fitting.fitted import FittedClickModel, choice_words
from faircascade.fitting.fitters import FITTERS, Fit
from faircascade.fitting.forecasts import Forecasts, examination
from faircascade.fitting.likelihood import predict
from faircascade.fitting.log_sample import KnownLog, LogSample
from faircascade.fitting.preferences import Preferences, fit_preferences
from faircascade.fitting.scores import Scored
from faircascade.fitting.statistics import Sample, sample_of
from faircascade.fitting.strata import Strata
from faircascade.fitting.user_sums import Looks, UserSlates, read_sums
from faircascade.types import Floats

ROUNDS = 3
"""How often a click model is fitted to what preferences say, and they to what it says."""


class Start(NamedTuple):
    """What is taken to be right at first: a click model, and one attraction for everybody."""

    model: ClickModel
    attraction: Floats


class Turns(NamedTuple):
    """A click model and preferences, fitted in turns."""

    model: ClickModel
    preferences: Preferences
    fit: Fit | None
    scored: Scored | None


class PersonalFit(NamedTuple):
    """How users of a log click, and what they like."""

    name: str
    model: ClickModel
    preferences: Preferences
    choice: str
    """Which click models predict as well, in words."""
    notes: tuple[str, ...]


class Personal(NamedTuple):
    """How to fit a click model and preferences to a log."""

    k: int
    """The longest slate."""
    features: Floats | None
    """Those of items (m, d); None if there are to be `dim` others that fit."""
    dim: int
    held_out: float
    """Share of the users by whom click models are compared."""
    smoothing: float
    seed: int

    def starts(self, log: KnownLog, names: list[str]) -> tuple[dict[str, Start], dict[str, str]]:
        """Fit click models with one attraction for everybody, or say why they cannot be."""
        entries = Entries(by_context=False)
        sample = self._sample(log, entries, names, held_out=0.0)
        fitting, found, refused = Fitting(sample, len(entries), self.smoothing), {}, {}
        for name in names:
            try:
                fit = fitting.fit(name)
            except DataError as error:
                refused[name] = str(error)
            else:
                rest = len(log.item_ids) - len(fit.attraction)
                attraction = np.append(fit.attraction, np.full(rest, sample.train.click_rate))
                found[name] = Start(fit.model, attraction)
        return found, refused

    def turns(self, log: KnownLog, name: str, start: Start, rounds: int = ROUNDS) -> Turns:
        """Fit a click model and preferences in turns; without any, preferences alone."""
        found = Turns(start.model, self.preferences(log, *start), None, None)
        return self.more_turns(log, name, found, rounds)

    def more_turns(self, log: KnownLog, name: str, found: Turns, rounds: int) -> Turns:
        """Go on with turns."""
        for _ in range(rounds):
            strata = Strata(Forecasts(found.preferences, found.model), self.k, log.has_users)
            sample = self._sample(log, strata, [name], self.held_out)
            check_sample(sample, log.name)
            fitting = Fitting(sample, len(log.item_ids), self.smoothing)
            fit = fitting.fit(name)
            preferences = self.preferences(log, fit.model, found.preferences)
            found = Turns(fit.model, preferences, fit, fitting.score(fit))
        return found

    def preferences(
        self, log: KnownLog, model: ClickModel, known: Preferences | Floats
    ) -> Preferences:
        """Fit preferences to a log, given a click model and what is known of attraction."""
        near = known if isinstance(known, Preferences) else None
        sums = read_sums(log, self._looks(model, known), k=self.k)
        return fit_preferences(sums, self.features, self.dim, self.seed, near=near)

    def first_preferences(
        self, log: KnownLog, model: ClickModel, attraction: Floats, until: int
    ) -> Preferences:
        """Fit preferences to the first impressions of a log: once to what one attraction for
        everybody says of looks, and once to what these preferences say."""
        sums = read_sums(log, self._looks(model, attraction), k=self.k, until=until)
        found = fit_preferences(sums, self.features, self.dim, self.seed)
        sums = read_sums(log, self._looks(model, found), k=self.k, until=until)
        return fit_preferences(sums, self.features, self.dim, self.seed, near=found)

    def _looks(self, model: ClickModel, known: Preferences | Floats) -> Looks:

        def looks(slates: UserSlates) -> Floats:
            if isinstance(known, Preferences):
                return examination(slates, known, model)
            attraction = np.where(slates.present, known[slates.items], 0.0)
            return predict(model, attraction, slates.items, slates.clicks).examined

        return looks

    def _sample(self, log: KnownLog, coding: Coding, names: list[str], held_out: float) -> Sample:
        tails = any(FITTERS[name].needs_tails for name in names)
        return sample_of(log, coding, held_out=held_out, seed=self.seed, keep_tails=tails)


def fit_personal(
    log: Log, click_model: str | FittedClickModel, sample: LogSample, how: Personal
) -> PersonalFit:
    """Fit preferences with a click model: one by its name, the one that predicts best ("auto"), or
    one that was fitted before, which is left as it is. `sample` are users to choose by."""
    if isinstance(click_model, FittedClickModel):
        start = Start(click_model.click_model, click_model.attraction)
        found = how.turns(log, click_model.name, start, rounds=0)
        return _personal_fit(click_model.name, found, click_model.best, log)
    starts, refused = how.starts(sample, names_of(click_model))
    if not starts:
        raise DataError(f"{log.name}: {next(iter(refused.values()))}")
    if len(starts) > 1 and sample.several and "cascade" in starts:
        del starts["cascade"]
        refused["cascade"] = f"cascade has at most one click a slate: {sample.several:,} have more"
    tried = {name: how.turns(sample, name, start) for name, start in starts.items()}
    if len(tried) > 1 and any(turns.scored is None for turns in tried.values()):
        raise DataError(f"{log.name}: {NOTHING_HELD_OUT}; name a click_model=, or {MORE_HELD_OUT}")
    name, choice = _choice(tried, refused)
    found = tried[name]
    everybody = how._replace(held_out=0.0)
    if len(sample) < sample.of:
        again = Start(found.model, found.preferences.mean_attraction)
        found = everybody.turns(log, name, again, rounds=1)
    else:
        found = everybody.more_turns(log, name, found, rounds=1)
    return _personal_fit(name, found, choice, log)


def _choice(tried: Mapping[str, Turns], refused: Mapping[str, str]) -> tuple[str, str]:
    """Return the simplest of the click models that predict as well as the best, and of those that
    are as simple the best, and say so."""
    fits = {name: (turns.fit, turns.scored) for name, turns in tried.items() if turns.fit}
    candidates = candidates_of(fits, refused)
    best, *others = [c for c in candidates if not c.refused]
    close = [best, *(c for c in others if c.behind is not None and not c.behind.is_clear)]
    taken = min(close, key=lambda c: FITTERS[c.name].complexity)
    choice = choice_words(candidates)
    if taken is not best:
        choice += f" {taken.name} is taken, as the simplest of these."
    return taken.name, choice


def _personal_fit(name: str, found: Turns, choice: str, log: Log) -> PersonalFit:
    notes = [*log.notes, *(() if found.fit is None else found.fit.notes)]
    if not found.preferences.converged:
        notes.append(f"preferences did not converge in {found.preferences.steps} steps")
    return PersonalFit(name, found.model, found.preferences, choice, tuple(notes))
