"""What a search tries next: Optuna's sampler for any parameters, bisection for a strength."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faircascade.experiment.tuning.bounds import Bound
from faircascade.experiment.tuning.candidates import Candidates
from faircascade.experiment.tuning.ranges import rounded
from faircascade.experiment.tuning.trial import Trial
from faircascade.installation import install_command
from faircascade.strengths import StrengthRange

if TYPE_CHECKING:
    import optuna

    from faircascade.experiment.tuning.search import Search

CLOSE = 0.1
"""How much of what a bound allows may be left for a bisection to end early."""
_DOUBTFUL = 3
"""Trials in a row that break a bound before the weakest value is tried."""


class Proposals(ABC):
    """Values for one trial after the other; the first is the policy as written."""

    @abstractmethod
    def next(self) -> Mapping[str, Any] | None:
        """Return values of the parameters, or None if nothing more is worth trying."""

    @abstractmethod
    def tell(self, trial: Trial) -> None:
        """Take in what became of them."""


class SamplerProposals(Proposals):
    """What Optuna's TPE sampler proposes."""

    def __init__(self, search: Search, study: optuna.Study) -> None:
        self._search, self._study = search, study
        self._first = True
        self._asked: optuna.Trial | None = None

    def next(self) -> Mapping[str, Any]:
        candidates = self._search.candidates
        values, self._asked = candidates.start, None
        first, self._first = self._first, False
        if not first:
            self._asked = self._study.ask()
            return candidates.propose(self._asked)
        if candidates.has(values):  # else Optuna could not have proposed it
            self._study.enqueue_trial(candidates.told(values))
            self._asked = self._study.ask()
            candidates.propose(self._asked)
        return values

    def tell(self, trial: Trial) -> None:
        if self._asked is None:
            return
        if trial.failure:
            from optuna.trial import TrialState

            self._study.tell(self._asked, state=TrialState.FAIL)
            return
        for place, excess in enumerate(trial.excesses):
            self._asked.set_constraint(str(place), excess)
        self._study.tell(self._asked, trial.means[self._search.metric])


@dataclass
class Bisection(Proposals):
    """Halves the range of a strength until what it costs comes near to the bound.

    It takes more strength to cost more. The search ends early when a bound is nearly used up, or
    when even the weakest value breaks one.
    """

    candidates: Candidates
    strength: StrengthRange
    bounds: tuple[Bound, ...]
    _weak: float = math.nan
    """The strongest value that is known to keep to the bounds."""
    _strong: float = math.nan
    """The weakest that is known to break one."""
    _tried: int = 0
    _broken: int = 0
    _ended: bool = False

    def next(self) -> Mapping[str, Any] | None:
        if self._ended:
            return None
        (name,) = self.candidates.ranges
        self._tried += 1
        if self._tried == 1:
            return self.candidates.start
        if self._broken == _DOUBTFUL and math.isnan(self._weak):
            return {name: self.strength.weakest}
        low = self.strength.weakest if math.isnan(self._weak) else self._weak
        high = self.strength.strongest if math.isnan(self._strong) else self._strong
        return {name: rounded(_middle(low, high, log=self.strength.log))}

    def tell(self, trial: Trial) -> None:
        (value,) = trial.values.values()
        if trial.failure or not self._is_inside(value):
            return
        if trial.is_feasible:
            self._weak, self._broken = value, 0
            self._ended = any(
                -CLOSE <= excess / bound.allowed <= 0
                for bound, excess in zip(self.bounds, trial.excesses, strict=True)
                if bound.allowed
            )
        else:
            self._strong, self._broken = value, self._broken + 1
            self._ended = value == self.strength.weakest

    def _is_inside(self, value: float) -> bool:
        """Say whether a value lies between the ends; the one as written need not."""
        low, high = sorted((self.strength.weakest, self.strength.strongest))
        return low <= value <= high


def _middle(low: float, high: float, *, log: bool) -> float:
    """Return what lies half-way.

    >>> _middle(1e-4, 1.0, log=True), _middle(0.0, 1.0, log=False)
    (0.01, 0.5)
    """
    return math.sqrt(low * high) if log else (low + high) / 2


@contextmanager
def proposals_of(search: Search) -> Iterator[Proposals]:
    """Yield what a search goes by."""
    if search.strength is not None:
        yield Bisection(search.candidates, search.strength, search.bounds)
        return
    optuna = require_optuna()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it keeps its remarks to itself
    try:
        study = optuna.create_study(
            direction="maximize" if search.maximize else "minimize",
            sampler=optuna.samplers.TPESampler(seed=search.sampler_seed),
        )
        yield SamplerProposals(search, study)
    finally:
        optuna.logging.set_verbosity(before)


def require_optuna() -> Any:
    """Return Optuna, or say how to get it."""
    try:
        import optuna
    except ImportError:
        raise ValueError(f"tuning needs Optuna: {install_command('tune')}") from None
    return optuna
