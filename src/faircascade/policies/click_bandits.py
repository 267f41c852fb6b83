"""Click bandits of the literature that know items by their clicks alone, without features."""

from __future__ import annotations

from dataclasses import dataclass, field

from faircascade.errors import ParameterError
from faircascade.estimators import Estimator, Tabular, TopRankBlocks
from faircascade.estimators.tabular import TableScope
from faircascade.exploration import (
    KLUCB,
    UCB1,
    BetaThompson,
    Exploration,
    GaussianThompson,
    ShuffledBlocks,
)
from faircascade.observations import AllPositions, Examination, LastClick, Observation
from faircascade.policies.recipe import Reranked, Rewarded
from faircascade.registry import register
from faircascade.rewards import RewardModel, Standard


@dataclass(frozen=True, kw_only=True)
class _Tabular(Reranked):
    scope: TableScope = "user"
    """Whose clicks count: `user`, each user's own, or `shared`, those of all users."""

    def estimate(self) -> Estimator:
        return Tabular(scope=self.scope)


@dataclass(frozen=True, kw_only=True)
class _Weighted(_Tabular, Rewarded):
    reward: RewardModel = field(default_factory=Standard)
    """What a seen position is worth; a name will do. Weights are divided by their largest, so that
    means stay within [0, 1]; with penalties those below 0 count as 0 in all but UCB1."""


@register("cascade-ucb1", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeUCB1(_Weighted):
    """CascadeUCB1 of Kveton et al. (2015): m + sqrt(1.5 ln t / T) for each item.

    Every item is shown until it has been seen once; in the source that is a gift. For some
    hundred items: one that is never seen comes before all that were.
    """

    def explorer(self) -> Exploration:
        return UCB1()


@register("cascade-kl-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeKLUCB(_Weighted):
    """CascadeKL-UCB of Kveton et al. (2015): the largest mean that the clicks do not rule out.

    Explores much less than CascadeUCB1 where clicks are rare. The start is the same.
    """

    def explorer(self) -> Exploration:
        return KLUCB()


@register("dcm-kl-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class DCMKLUCB(_Weighted):
    """dcmKL-UCB of Katariya et al. (2016): CascadeKL-UCB that learns up to the last click.

    For users who may go on after a click (click model `dcm`). It assumes that positions where
    users stop more often come first, and orders items by attraction alone.
    """

    observation: Observation = field(default_factory=LastClick)
    """Which positions it takes as seen; a name will do."""

    def explorer(self) -> Exploration:
        return KLUCB()


@register("ts-cascade", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class TSCascade(_Weighted):
    """TS-Cascade of Cheung, Tan and Zhong (2019): a Thompson draw with one Gaussian for all items.

    Its draws move all items up or down together, more those that are less known.
    """

    def explorer(self) -> Exploration:
        return GaussianThompson()


@register("cascade-ts", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeTS(_Weighted):
    """Thompson sampling from Beta(1 + clicks, 1 + seen - clicks) of each item.

    Analysed for cascades by Huyuk and Tekin (2019) and by Zhong, Cheung and Tan (2021).
    """

    def explorer(self) -> Exploration:
        return BetaThompson()


@register("pbm-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class PBMUCB(_Tabular):
    """PBM-UCB of Lagree et al. (2016): S/N~ + sqrt(N/N~) sqrt((1 + eps) ln t / (2 N~)).

    N~ adds up how likely the positions of an item were looked at: give them by the observation
    `examination`. With `first-click` it is UCB1 for cascades. There is no reward model: N~ already
    corrects for positions, as a weight 1 / kappa would.
    """

    observation: Observation = field(default_factory=Examination)
    """How likely positions are looked at: `examination(kappa=...)`; 1 / k unless given."""

    eps: float = 0.0
    """How much wider than ln t, > -1."""

    def __post_init__(self) -> None:
        if not self.eps > -1:
            raise ParameterError("eps", "must be greater than -1", self.eps)
        super().__post_init__()

    def explorer(self) -> Exploration:
        return UCB1(scale=(1.0 + self.eps) / 2.0)


@register("pbm-ts", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class PBMTS(_Tabular):
    """Thompson sampling for position-based clicks, after Lagree et al. (2016).

    The observation `examination` says how likely positions are looked at. The source draws from
    the posterior by rejection, which takes counts of each item at each position; this one draws
    from Beta(1 + S, 1 + N~ - S), whose variance is (1 - w) / (1 - kappa w) of it. There is no
    reward model: N~ already corrects for positions.
    """

    observation: Observation = field(default_factory=Examination)
    """How likely positions are looked at: `examination(kappa=...)`; 1 / k unless given."""

    def explorer(self) -> Exploration:
        return BetaThompson()


@register("toprank", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class TopRank(Reranked):
    """TopRank of Lattimore et al. (2018): sorts items into blocks by comparing their clicks.

    It assumes no click model, and pays with slower learning. Each user has a number for each pair
    of items, up to 256. There is no reward model: within a block items are shuffled, which leaves
    nothing to correct.
    """

    observation: Observation = field(default_factory=AllPositions)
    """Which clicks it learns from; a name will do."""

    delta: float = 1e-5
    """How likely a comparison may go wrong, in (0, 1): 1 / rounds in the source."""

    def estimate(self) -> Estimator:
        return TopRankBlocks(delta=self.delta)

    def explorer(self) -> Exploration:
        return ShuffledBlocks()
