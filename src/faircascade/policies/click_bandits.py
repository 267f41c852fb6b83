"""Click bandits of the literature that know items by their clicks alone, without features.

What they keep of a user grows with the items, so that the service, which keeps a fixed list of
sums, cannot serve them. A `Ranker` takes them, unless users share a table. With a re-ranker they
run in the engine `loop` alone; `discount` is refused, as they have no widths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

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

NO_WEIGHTS = MappingProxyType(
    {"reward": "it corrects clicks for positions already, and weights would do so twice"}
)
"""Why bandits that are told how likely positions are looked at have no reward model."""


@dataclass(frozen=True, kw_only=True)
class _Tabular(Reranked):
    scope: TableScope = "user"
    """Whose clicks count: `user`, each user's own, or `shared`, those of all users, which neither
    a `Ranker` nor the service takes."""

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
    """CascadeUCB1: m + sqrt(1.5 ln t / T) for each item. Kveton, Szepesvari, Wen and Ashkan,
    "Cascading Bandits: Learning to Rank in the Cascade Model", ICML 2015.

    Items that were never seen come first, until all have been seen once; the source starts with
    an observation of each. That takes long with more than some hundred items. Cannot be served.
    """

    def explorer(self) -> Exploration:
        return UCB1()


@register("cascade-kl-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeKLUCB(_Weighted):
    """CascadeKL-UCB: the largest mean that the clicks do not rule out. Kveton, Szepesvari, Wen and
    Ashkan, "Cascading Bandits: Learning to Rank in the Cascade Model", ICML 2015.

    Explores much less than CascadeUCB1 where clicks are rare. Items that were never seen come
    first, as there. Cannot be served.
    """

    def explorer(self) -> Exploration:
        return KLUCB()


@register("dcm-kl-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class DCMKLUCB(_Weighted):
    """dcmKL-UCB: CascadeKL-UCB that learns up to the last click. Katariya, Kveton, Szepesvari and
    Wen, "DCM Bandits: Learning to Rank with Multiple Clicks", ICML 2016.

    For users who may go on after a click (click model `dcm`). It assumes that positions where
    users stop more often come first, and orders items by attraction alone. Cannot be served.
    """

    observation: Observation = field(default_factory=LastClick)
    """Which positions it takes as seen; a name will do."""

    def explorer(self) -> Exploration:
        return KLUCB()


@register("ts-cascade", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class TSCascade(_Weighted):
    """TS-Cascade: a Thompson draw with one Gaussian for all items. Cheung, Tan and Zhong, "A
    Thompson Sampling Algorithm for Cascading Bandits", AISTATS 2019.

    Its draws move all items up or down together, more those that are less known. With a shared
    table it runs in the engine `loop` alone. Cannot be served.
    """

    def explorer(self) -> Exploration:
        return GaussianThompson()


@register("cascade-ts", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeTS(_Weighted):
    """Thompson sampling from Beta(1 + clicks, 1 + seen - clicks) of each item. Zhong, Cheung and
    Tan, "Thompson Sampling Algorithms for Cascading Bandits", JMLR 2021.

    Huyuk and Tekin (AISTATS 2019) analysed it, too. With a shared table it runs in the engine
    `loop` alone. Cannot be served.
    """

    def explorer(self) -> Exploration:
        return BetaThompson()


@register("pbm-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class PBMUCB(_Tabular):
    """PBM-UCB: S/N~ + sqrt(N/N~) sqrt((1 + eps) ln t / (2 N~)). Lagree, Vernade and Cappe,
    "Multiple-Play Bandits in the Position-Based Model", NIPS 2016.

    N~ adds up how likely the positions of an item were looked at: give them by the observation
    `examination`. With `first-click` and eps = 2 it is CascadeUCB1; with eps = 0 it has 0.5 ln t
    where that has 1.5 ln t. There is no reward model: N~ already corrects for positions, as a
    weight 1 / kappa would. Cannot be served.
    """

    lacks: ClassVar[Mapping[str, str]] = NO_WEIGHTS

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
    """Thompson sampling for position-based clicks, after Lagree, Vernade and Cappe, "Multiple-Play
    Bandits in the Position-Based Model", NIPS 2016.

    The observation `examination` says how likely positions are looked at. The source draws from
    the posterior by rejection, which takes counts of each item at each position; this one draws
    from Beta(1 + S, 1 + N~ - S), whose variance is (1 - w) / (1 - kappa w) of it. There is no
    reward model: N~ already corrects for positions. With a shared table it runs in the engine
    `loop` alone. Cannot be served.
    """

    lacks: ClassVar[Mapping[str, str]] = NO_WEIGHTS

    observation: Observation = field(default_factory=Examination)
    """How likely positions are looked at: `examination(kappa=...)`; 1 / k unless given."""

    def explorer(self) -> Exploration:
        return BetaThompson()


@register("toprank", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class TopRank(Reranked):
    """TopRank: sorts items into blocks by comparing their clicks. Lattimore, Kveton, Li and
    Szepesvari, "TopRank: A Practical Algorithm for Online Stochastic Ranking", NeurIPS 2018.

    It assumes no click model, and pays with slower learning. Takes up to 256 items: each user has a
    number for each pair of them. There is no reward model: within a block items are shuffled, which
    leaves nothing to correct. Cannot be served.
    """

    lacks: ClassVar[Mapping[str, str]] = MappingProxyType({"reward": TopRankBlocks.refuses_weights})

    observation: Observation = field(default_factory=AllPositions)
    """Which clicks it learns from; a name will do."""

    delta: float = 1e-5
    """How likely a comparison may go wrong, in (0, 1): 1 / rounds in the source."""

    def estimate(self) -> Estimator:
        return TopRankBlocks(delta=self.delta)

    def explorer(self) -> Exploration:
        return ShuffledBlocks()
