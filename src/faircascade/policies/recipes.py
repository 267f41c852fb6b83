"""The named policies: what the paper compares, and the same reward model with other explorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from faircascade.errors import check_choice
from faircascade.estimators import Estimator, Ridge, SharedRidge
from faircascade.exploration import UCB, Epsilon, Exploration, Thompson
from faircascade.policies.composed import with_reranker
from faircascade.policies.recipe import Recipe, Reranked
from faircascade.readings import Reading
from faircascade.registry import register
from faircascade.rerankers import EARS, Discount, ExposureCharge, MeritDraws, Reorder, Reranker
from faircascade.rerankers.ledger import Scope
from faircascade.rewards import ExposureAware, RewardModel, as_weight
from faircascade.rewards.weights import Weight, WeightLike
from faircascade.strengths import StrengthRange
from faircascade.weighing import Weighs


@dataclass(frozen=True, kw_only=True)
class LinearRecipe(Recipe):
    """A bandit that learns by ridge regression."""

    ridge: float = 1.0
    """Regularisation lambda, > 0."""
    sigma: float = 1.0
    """Learning rate sigma, > 0."""
    reading: Reading = "intended"
    """Whose formulas: `intended` (the paper's text), `paper` (its tables) or `reference` (its
    authors' package)."""

    def estimate(self) -> Estimator:
        return Ridge(ridge=self.ridge, sigma=self.sigma, reading=self.reading)


@dataclass(frozen=True, kw_only=True)
class _Optimistic(LinearRecipe):
    alpha: float = 0.25
    """Width of the exploration bonus, >= 0; 0 is greedy."""

    def explorer(self) -> Exploration:
        return UCB(alpha=self.alpha)


@dataclass(frozen=True, kw_only=True)
class Sampling(LinearRecipe):
    scale: float = 0.25
    """Standard deviation of the posterior draw, >= 0; 0 is greedy."""

    def explorer(self) -> Exploration:
        return Thompson(scale=self.scale)


@dataclass(frozen=True, kw_only=True)
class _Dithering(LinearRecipe):
    epsilon: float = 0.1
    """Probability of a random item at a position."""

    def explorer(self) -> Exploration:
        return Epsilon(epsilon=self.epsilon)


@dataclass(frozen=True, kw_only=True)
class _ExposureAware(Reranked, LinearRecipe):
    strength_range: ClassVar[StrengthRange | None] = StrengthRange("gamma", 1e-4, 0.5)

    weight: WeightLike = "log"
    """F: "log", "rbp", "linear", a vector of K positive weights, or a function of (k, K)."""
    beta: float | None = None
    """Parameter of rbp (default 0.9) and linear (default 0.05)."""
    gamma: float = 0.0
    """Strength of the penalty for ignored items, >= 0."""
    weighs: Weighs = "targets"
    """Where the weights enter: what a click is worth, as in the paper (`targets`), or how much it
    is trusted (`observations`): see `Ridge`."""

    def __post_init__(self) -> None:
        if not isinstance(self.weight, str | Weight) and not callable(self.weight):
            object.__setattr__(self, "weight", tuple(float(w) for w in self.weight))
        if isinstance(self.weight, str) and self.beta is None:
            default = getattr(as_weight(self.weight), "beta", None)
            object.__setattr__(self, "beta", default)
        super().__post_init__()

    @property
    def label(self) -> str:
        label = f"{type(self).__name__} {as_weight(self.weight, self.beta).label}"
        return with_reranker(label, self.reranker)

    def estimate(self) -> Estimator:
        return Ridge(ridge=self.ridge, sigma=self.sigma, reading=self.reading, weighs=self.weighs)

    def reward_model(self) -> RewardModel:
        weight = as_weight(self.weight, self.beta)
        return ExposureAware(weight=weight, gamma=self.gamma, reading=self.reading)


@register("linucb", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class LinUCB(Reranked, _Optimistic):
    """Cascading LinUCB: clicks count 1 wherever they happen. Zong, Ni, Sung, Ke, Wen and Kveton,
    "Cascading Bandits for Large-Scale Recommendation Problems", UAI 2016."""


@register("shared-linucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class SharedLinUCB(Reranked, _Optimistic):
    """LinUCB with one model for all users: nothing is personal, and everybody learns from all.

    Neither a `Ranker` nor the service takes it. With a re-ranker it runs in `loop` alone.
    """

    def estimate(self) -> Estimator:
        return SharedRidge(ridge=self.ridge, sigma=self.sigma, reading=self.reading)


@register("lints", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class LinTS(Reranked, Sampling):
    """Cascading linear Thompson sampling: Zong et al., "Cascading Bandits for Large-Scale
    Recommendation Problems", UAI 2016."""


@register("epsilon-greedy", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(Reranked, _Dithering):
    """Greedy with random items at random positions."""


@register("ealinucb", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class EALinUCB(_ExposureAware, _Optimistic):
    """LinUCB with the exposure-aware reward model: Mansoury, Mobasher and van Hoof, "Mitigating
    Exposure Bias in Online Learning to Rank Recommendation", CIKM 2024 (the paper)."""


@register("ealints", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class EALinTS(_ExposureAware, Sampling):
    """Thompson sampling with the exposure-aware reward model."""


@register("ea-epsilon-greedy", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class EAEpsilonGreedy(_ExposureAware, _Dithering):
    """Epsilon-greedy with the exposure-aware reward model."""


@register("earslinucb", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class EARSLinUCB(_Optimistic):
    """LinUCB whose slates are shuffled at the top as far as that costs hardly any clicks. Jeunen
    and Goethals, "Top-K Contextual Bandits with Equity of Exposure", RecSys 2021."""

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("tolerance", 1e-4, 1.0)

    patience: float = 0.9
    """Probability that a user goes on to the next position, in (0, 1]."""
    tolerance: float = 0.05
    """Share of the expected clicks that may be lost, in [0, 1]; 1 shuffles the whole slate."""

    def last_step(self) -> Reranker:
        return EARS(patience=self.patience, tolerance=self.tolerance)


@register("discount-linucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class DiscountLinUCB(_Optimistic):
    """LinUCB that explores an item less the more it was shown: Mansoury et al., "Unbiased Cascade
    Bandits", 2021. See the re-ranker `discount`."""

    def last_step(self) -> Reranker:
        return Discount(alpha=self.alpha)


Variant = Literal["merit-draws", "exposure-charge", "reorder"]


@register("frmlinucb", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class FRMLinUCB(_Optimistic):
    """LinUCB that gives exposure by merit, after Wang, Bai, Sun and Joachims, "Fairness of Exposure
    in Stochastic Bandits", ICML 2021.

    One of a family: neither they nor the paper define it for slates. A `global` ledger runs in the
    engine `loop` alone, and a `Ranker` refuses it.
    """

    variant: Variant = "merit-draws"
    """`merit-draws` draws by optimistic merit, `exposure-charge` makes items pay for exposure,
    `reorder` only reorders."""
    sharpness: float = 400.0
    """For `merit-draws`: how much a higher score counts, >= 0."""
    eta: float = 0.001
    """For `exposure-charge`: what an item loses that has had its fair share, >= 0."""
    ledger: Scope = "user"
    """For `exposure-charge` and `reorder`: each user's own exposure counts, or that of all
    (`global`)."""

    @property
    def label(self) -> str:
        return f"{type(self).__name__} {self.variant}"

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, get_args(Variant))
        for build in _VARIANTS.values():  # parameters of the others must be right as well
            build(self)
        super().__post_init__()

    def last_step(self) -> Reranker:
        return _VARIANTS[self.variant](self)


_VARIANTS: dict[Variant, Callable[[FRMLinUCB], Reranker]] = {
    "merit-draws": lambda frm: MeritDraws(sharpness=frm.sharpness),
    "exposure-charge": lambda frm: ExposureCharge(eta=frm.eta, ledger=frm.ledger),
    "reorder": lambda frm: Reorder(ledger=frm.ledger),
}
