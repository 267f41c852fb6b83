"""Sequential models fitted: DCM, DBN, its simplified form and CCM.

Positions down to the last click were looked at, so counts say all there is to know of them. Below
it, users have stopped or found nothing; EM weighs the two. Guo 2009 (DCM) and Chapelle and Zhang
2009 (simplified DBN) take it that users stop at the last click, which makes counts of everything
(`counting`): quick, but stops and attraction come out too high. EM begins there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.clicks import CCM, DBN, DCM, ClickModel
from faircascade.fitting.em import Optimum, Step, maximise
from faircascade.fitting.expectation import Expectation, Going, expect
from faircascade.fitting.priors import Priors
from faircascade.fitting.tails import Tails
from faircascade.types import Floats

_WARM_CELLS = 1 << 22
"""Of more positions below last clicks, a sample is fitted first."""
_START = 0.9
"""Probability of going on without a click that EM begins with."""


@dataclass
class Chain(ABC):
    """A sequential model, its data, and its parameters as one vector: attraction comes first."""

    entry_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters of the click model that have a value for each item that may be clicked."""

    tails: Tails
    entries: int
    heads: int
    """How many things can be clicked: entries, or items where entries are none."""
    k: int
    priors: Priors

    def __post_init__(self) -> None:
        counts = self.tails.counts
        self.last, self.last_at = self.tails.last_clicks(self.heads, self.k)
        self.clicks = _wide(counts.clicks, self.entries)
        self.passed = _wide(counts.passed, self.entries)
        self.went_on = _wide(counts.went_on, self.heads)
        self.went_on_at = _wide(counts.went_on_at, self.k)

    @abstractmethod
    def start(self, attraction: Floats, counted: Expectation) -> Floats:
        """Return the parameters that EM begins with, made by counting where that is possible."""

    @abstractmethod
    def going(self, theta: Floats) -> Going:
        """Return the probabilities of going on."""

    @abstractmethod
    def improved(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        """Return better values of the parameters behind attraction (M-step)."""

    @abstractmethod
    def model(self, theta: Floats) -> ClickModel:
        """Return the click model of the parameters."""

    def counting(self) -> Floats:
        """Return parameters by counting: users stop at their last click."""
        stopped = Going(1.0, np.append(np.zeros(self.heads), 1.0), np.ones(self.k + 1))
        counted = expect(self.tails, np.full(self.entries, 0.5), stopped)
        seen = self.clicks + self.passed + counted.examined
        return self.start(self.priors.attraction.estimate(self.clicks, seen), counted)

    def fit(self, **options: Any) -> Optimum:
        """Fit by EM from what counting gives; of many slates, a sample is fitted first."""
        start = self.counting()
        every = self.tails.cells // _WARM_CELLS
        if every > 1:
            part = type(self)(
                self.tails.sample(every), self.entries, self.heads, self.k, self.priors
            )
            start = maximise(part.step, start, **options).parameters
        return maximise(self.step, start, **options)

    def step(self, theta: Floats) -> Step:
        """Make an EM step."""
        w, going = theta[: self.entries], self.going(theta)
        found = expect(self.tails, w, going)
        objective = self._objective(theta, w, going) + found.log_likelihood
        better = self.improved(theta, going, found)
        return Step(objective, np.concatenate([self.attraction(theta, going, found), better]))

    def attraction(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        """Return better attraction (M-step)."""
        seen = self.clicks + self.passed + found.examined
        return self.priors.attraction.estimate(self.clicks, seen)

    def _objective(self, theta: Floats, w: Floats, going: Going) -> float:
        """Return the log-likelihood of what is above last clicks, and of the priors."""
        from scipy.special import xlog1py, xlogy

        total = float(np.sum(xlogy(self.clicks, w)) + np.sum(xlog1py(self.passed, -w)))
        total += float(xlogy(self.passed.sum(), going.ignored))
        total += float(np.sum(xlogy(self.went_on, going.heads[:-1])))
        total += float(np.sum(xlogy(self.went_on_at, going.positions[:-1])))
        total += self.priors.attraction.log_density(w)
        return total + self.priors.others.log_density(theta[self.entries :])


class DependentClicks(Chain):
    """DCM: beside attraction, the probability of stopping after a click by position."""

    def start(self, attraction: Floats, counted: Expectation) -> Floats:
        return np.concatenate([attraction, self._stops(counted.entered_at)])

    def going(self, theta: Floats) -> Going:
        stop = theta[self.entries :]
        return Going(1.0, np.ones(self.heads + 1), np.append(1.0 - stop, 1.0))

    def improved(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        return self._stops(found.entered_at)

    def _stops(self, entered_at: Floats) -> Floats:
        chances = self.went_on_at + self.last_at
        return self.priors.others.estimate(self.last_at - entered_at, chances)

    def model(self, theta: Floats) -> DCM:
        return DCM(stop=tuple(theta[self.entries :].tolist()))


class SimplifiedDynamicBayesian(Chain):
    """DBN whose users never lose patience: beside attraction, the satisfaction of items."""

    entry_parameters = ("satisfaction",)

    def start(self, attraction: Floats, counted: Expectation) -> Floats:
        return np.concatenate([attraction, self._satisfied(self.last - counted.entered)])

    def going(self, theta: Floats) -> Going:
        kept = 1.0 - theta[self.entries : self.entries + self.heads]
        return Going(1.0, np.append(kept, 1.0), np.ones(self.k + 1))

    def improved(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        return self._satisfied(self.last - found.entered)

    def _satisfied(self, satisfied: Floats) -> Floats:
        return self.priors.others.estimate(satisfied, self.last + self.went_on)

    def satisfaction(self, theta: Floats) -> Floats:
        """Return the satisfaction of items, (h,)."""
        return theta[self.entries : self.entries + self.heads]

    def model(self, theta: Floats) -> DBN:
        return DBN(satisfaction=_plain(self.satisfaction(theta)), continuation=1.0)


class DynamicBayesian(SimplifiedDynamicBayesian):
    """DBN: beside that, the probability of going on unless satisfied."""

    def start(self, attraction: Floats, counted: Expectation) -> Floats:
        return np.append(SimplifiedDynamicBayesian.start(self, attraction, counted), _START)

    def going(self, theta: Floats) -> Going:
        rate, kept = float(theta[-1]), 1.0 - self.satisfaction(theta)
        return Going(rate, np.append(rate * kept, 1.0), np.ones(self.k + 1))

    def improved(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        stops, after = self.last - found.entered, 1.0 - going.heads[:-1]
        satisfied = stops * _ratio(self.satisfaction(theta), after)
        went_on = self.passed.sum() + self.went_on.sum() + found.entered.sum() + found.went_on
        left = found.stopped + float((stops - satisfied).sum())
        rate = self.priors.others.estimate(went_on, went_on + left)
        return np.append(self._satisfied(satisfied), rate)

    def model(self, theta: Floats) -> DBN:
        return DBN(satisfaction=_plain(self.satisfaction(theta)), continuation=float(theta[-1]))


class ClickChain(Chain):
    """CCM: beside attraction t1, t2, t3.

    After a click an imagined second draw, a success with probability w, decides whether users go on
    with probability t3 or t2. It is hidden, and one more trial of attraction.
    """

    def start(self, attraction: Floats, counted: Expectation) -> Floats:
        return np.append(attraction, [_START, 0.6, 0.4])

    def going(self, theta: Floats) -> Going:
        w, (t1, t2, t3) = theta[: self.entries], theta[self.entries :]
        return Going(float(t1), np.append(t2 + (t3 - t2) * w, 1.0), np.ones(self.k + 1))

    def improved(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        (on, off), (on_else, off_else) = self._second_draws(theta, going, found)
        passed = self.passed.sum() + found.went_on
        estimate = self.priors.others.estimate
        successes = np.array([passed, on_else.sum(), on.sum()])
        failures = np.array([found.stopped, off_else.sum(), off.sum()])
        return estimate(successes, successes + failures)

    def attraction(self, theta: Floats, going: Going, found: Expectation) -> Floats:
        (on, off), _ = self._second_draws(theta, going, found)
        seen = self.clicks + self.passed + found.examined + self.went_on + self.last
        return self.priors.attraction.estimate(self.clicks + on + off, seen)

    def _second_draws(self, theta: Floats, going: Going, found: Expectation) -> Any:
        """Return, for a success and for a failure, how often users went on and stopped, (m,)."""
        w, (_, _, t3) = theta[: self.entries], theta[self.entries :]
        on = going.heads[:-1]
        went_on, stopped = self.went_on + found.entered, self.last - found.entered
        share_on = np.divide(w * t3, on, out=np.array(w), where=on > 0)
        share_off = np.divide(w * (1.0 - t3), 1.0 - on, out=np.array(w), where=on < 1)
        success = went_on * share_on, stopped * share_off
        return success, (went_on - success[0], stopped - success[1])

    def model(self, theta: Floats) -> CCM:
        t1, t2, t3 = theta[self.entries :].tolist()
        return CCM(t1=t1, t2=t2, t3=t3)


def _wide(values: Floats, size: int) -> Floats:
    return np.concatenate([values, np.zeros(size - len(values))])


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _plain(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())
