"""What a search may try of a parameter: a range of numbers, or one of a few values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faircascade.errors import ParameterError
from faircascade.experiment.spec.checks import check_known
from faircascade.experiment.spec.errors import at

if TYPE_CHECKING:
    import optuna

_SPAN = ("low", "high", "log", "step")
_CHOICES = ("choices",)
_DIGITS = 6
"""Significant digits of the numbers that are tried, so that a tuned spec can be read."""


@dataclass(frozen=True)
class NumberRange:
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float
    log: bool = False
    """True spreads them by their logarithm."""
    step: float | None = None
    whole: bool = False
    """True for whole numbers alone."""

    @property
    def is_numeric(self) -> bool:
        """Say whether all values are numbers."""
        return True

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values that stand for all of them when a policy is checked."""
        return (self.low, self.high)

    def has(self, value: Any) -> bool:
        """Say whether a value is among them."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return self.low <= value <= self.high and abs(steps - round(steps)) < 1e-8

    def told(self, value: Any) -> Any:
        """Return a value as Optuna knows it."""
        return value

    def suggest(self, trial: optuna.Trial, name: str) -> Any:
        """Ask Optuna for a value."""
        if self.whole:
            step = 1 if self.step is None else int(self.step)
            return trial.suggest_int(name, int(self.low), int(self.high), step=step, log=self.log)
        found = trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)
        return min(max(rounded(found), self.low), self.high)


@dataclass(frozen=True)
class Choices:
    """One of a few values, of any kind."""

    values: tuple[Any, ...]

    @property
    def is_numeric(self) -> bool:
        """Say whether all values are numbers."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values that stand for all of them when a policy is checked: all."""
        return self.values

    def has(self, value: Any) -> bool:
        """Say whether a value is among them."""
        return value in self.values

    def told(self, value: Any) -> Any:
        """Return a value as Optuna knows it: its number, as Optuna takes no lists."""
        return self.values.index(value)

    def suggest(self, trial: optuna.Trial, name: str) -> Any:
        """Ask Optuna for a value."""
        return self.values[trial.suggest_categorical(name, range(len(self.values)))]


Range = NumberRange | Choices


def rounded(value: float) -> float:
    """Return a number as it is tried.

    >>> rounded(0.0123456789)
    0.0123457
    """
    return float(f"{value:.{_DIGITS}g}")


def is_range(written: Any) -> bool:
    """Say whether a table is a range, and not one of the parameters of a component."""
    return not isinstance(written, Mapping) or bool({"low", "high", "choices"} & set(written))


def read_range(written: Any, *, whole: bool) -> Range:
    """Read what may be tried of a parameter, which takes `whole` numbers or any."""
    if not isinstance(written, Mapping):
        raise ValueError(
            "a range must be like {low = 0.1, high = 1.0} or {choices = [...]}, "
            f"got {written!r}"
        )
    if "choices" in written:
        check_known(written, _CHOICES, "a range of choices")
        return _choices(written["choices"])
    check_known(written, _SPAN, "a range")
    for needed in ("low", "high"):
        if needed not in written:
            raise ValueError(f"a range must say its {needed}, got {dict(written)}")
    return _span(written, whole)


def _choices(values: Any) -> Choices:
    with at("choices"):
        if not isinstance(values, list | tuple) or not values:
            raise ParameterError("choices", "must be a list of at least one value", values)
        if any(value in values[:place] for place, value in enumerate(values)):
            raise ParameterError("choices", "must be distinct", values)
    return Choices(tuple(values))


def _span(written: Mapping[str, Any], whole: bool) -> NumberRange:
    log = written.get("log", False)
    for name in ("low", "high", "step"):
        if name in written:
            with at(name):
                _check_number(name, written[name], whole)
    if not isinstance(log, bool):
        with at("log"):
            raise ParameterError("log", "must be true or false", log)
    low, high, step = written["low"], written["high"], written.get("step")
    if low > high:
        raise ParameterError("low", f"must be at most high, which is {high}", low)
    if log and low <= 0:
        raise ParameterError("low", "must be above 0 if log is true", low)
    if step is not None:
        if log:
            raise ParameterError("step", "must be left out if log is true", step)
        if step <= 0:
            raise ParameterError("step", "must be above 0", step)
        high = _last(low, high, step)  # Optuna wants the range to end on a step
    return NumberRange(low, high, log, step, whole)


def _check_number(name: str, value: Any, whole: bool) -> None:
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
        words = "a whole number" if whole else "a finite number"
        raise ParameterError(name, f"must be {words}", value)


def _last(low: float, high: float, step: float) -> float:
    """Return the last step that is not beyond the end.

    >>> _last(0.1, 0.9, 0.1), _last(0.0, 1.0, 0.3), _last(1, 8, 2)
    (0.9, 0.9, 7)
    """
    steps = math.floor((high - low) / step + 1e-9)
    found = low + steps * step
    return found if isinstance(found, int) else float(f"{found:.12g}")
