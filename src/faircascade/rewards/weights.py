"""Weight functions F(k) of the exposure-aware reward model, Table 2 of the paper."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import MissingParameterError, ParameterError
from faircascade.readings import Reading
from faircascade.registry import Component, build, register
from faircascade.types import Floats


class Weight(Component):
    """A positive weight for every position."""

    kind: ClassVar[str] = "weight"
    harms: ClassVar[Mapping[Reading, str]] = MappingProxyType({})
    """The world in which it made the exposure of LinUCB less equal than no weights at all, by
    reading: what the study in docs/explanation/worlds.md found, under a cascade."""

    @abstractmethod
    def values(self, k: int) -> Floats:
        """Return F(1..k) as the paper writes it, (k,)."""

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return self.name

    @property
    def probe_length(self) -> int:
        """A slate length at which a mistake in the weights shows."""
        return 2

    def intended(self, k: int) -> Floats:
        """Return the weights as the paper's text asks for them, rising with the position, (k,)."""
        return self.values(k)

    def reference(self, k: int) -> tuple[Floats, Floats]:
        """Return what the authors' package gives for clicks and takes, before gamma, for the rest.

        By position, (k,), or by the last position seen and position, (k, k).
        """
        raise ValueError(f"weight {self.name!r} has no 'reference' reading: the package lacks it")


@register("log")
@dataclass(frozen=True, slots=True, kw_only=True)
class Log(Weight):
    """F(k) = ln(1 + k). The package takes the logarithm to base K, and its inverse to punish."""

    harms: ClassVar[Mapping[Reading, str]] = MappingProxyType({"reference": "popular"})

    def values(self, k: int) -> Floats:
        return np.asarray(np.log1p(np.arange(1.0, k + 1)))

    def reference(self, k: int) -> tuple[Floats, Floats]:
        logarithms = np.array([math.log(1 + place, max(k, 2)) for place in range(1, k + 1)])
        return logarithms, 1.0 / logarithms


@register("rbp")
@dataclass(frozen=True, slots=True, kw_only=True)
class RBP(Weight):
    """F(k) = beta^(k-1), which falls with k. In the package a click always earns beta^0 = 1."""

    harms: ClassVar[Mapping[Reading, str]] = MappingProxyType(
        {"paper": "paper", "intended": "popular"}
    )

    beta: float = 0.9
    """Patience, in (0, 1]."""

    def __post_init__(self) -> None:
        if not 0 < self.beta <= 1:
            raise ParameterError("beta", "must be in (0, 1] for rbp", self.beta)

    def values(self, k: int) -> Floats:
        return np.asarray(self.beta ** np.arange(k, dtype=np.float64))

    def intended(self, k: int) -> Floats:
        return self.values(k)[::-1]

    def reference(self, k: int) -> tuple[Floats, Floats]:
        return np.ones(k), np.array([math.pow(self.beta, place) for place in range(k)])


@register("linear")
@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(Weight):
    """F(k) = beta k. In the package the penalty counts back from the last examined position."""

    harms: ClassVar[Mapping[Reading, str]] = MappingProxyType(
        {"paper": "popular", "intended": "popular", "reference": "popular"}
    )

    beta: float = 0.05
    """Slope, > 0."""

    def __post_init__(self) -> None:
        if not (self.beta > 0 and math.isfinite(self.beta)):
            raise ParameterError("beta", "must be positive for linear", self.beta)

    def values(self, k: int) -> Floats:
        return self.beta * np.arange(1.0, k + 1)

    def reference(self, k: int) -> tuple[Floats, Floats]:
        positions = np.arange(1.0, k + 1)
        return self.beta * positions, self.beta * (positions[:, None] - positions + 1)


@register("custom")
@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(Weight):
    """Any positive weights: one number per position, or a function of (k, K)."""

    weights: tuple[float, ...] | Callable[[int, int], float]
    """Weights of positions 1, 2, ..., or a function of the position and the slate's length."""

    def __post_init__(self) -> None:
        if not callable(self.weights):
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
            self.values(len(self.weights))

    @property
    def probe_length(self) -> int:
        return 2 if callable(self.weights) else len(self.weights)

    def values(self, k: int) -> Floats:
        if callable(self.weights):
            values = [float(self.weights(position, k)) for position in range(1, k + 1)]
        elif len(self.weights) < k:
            rule = f"must cover all {k} positions of the slate"
            raise ParameterError("weight", rule, list(self.weights))
        else:
            values = list(self.weights[:k])
        for position, value in enumerate(values, start=1):
            if not (value > 0 and math.isfinite(value)):
                rule = f"must be positive at position {position}"
                raise ParameterError("weight", rule, value)
        return np.array(values)


@register("scaled")
@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled(Weight):
    """Another weight, divided by its mean over the slate: its shape without its scale.

    To a UCB bandit weights that are c times as large are what an alpha c times as small is.
    """

    of: Weight = field(default_factory=Log)
    """The weight whose shape it takes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", as_weight(self.of))

    @property
    def label(self) -> str:
        return f"{self.of.label} scaled"

    @property
    def probe_length(self) -> int:
        return self.of.probe_length

    def values(self, k: int) -> Floats:
        return _with_mean_1(self.of.values(k))

    def intended(self, k: int) -> Floats:
        return _with_mean_1(self.of.intended(k))


def _with_mean_1(values: Floats) -> Floats:
    return np.asarray(values / values.mean())


WeightLike = str | Sequence[float] | Callable[[int, int], float] | Weight


def as_weight(weight: WeightLike, beta: float | None = None) -> Weight:
    """Turn a name, a vector or a function into a weight; `beta` is for named ones that have it."""
    if isinstance(weight, str):
        parameters: dict[str, Any] = {} if beta is None else {"beta": beta}
        try:
            made: Weight = build("weight", weight, parameters)
        except MissingParameterError as error:
            raise error.inside("weight") from None
        return made
    if beta is not None:
        raise ParameterError("beta", "must be left out unless the weight is given by name", beta)
    return weight if isinstance(weight, Weight) else Custom(weights=weight)  # type: ignore[arg-type]
