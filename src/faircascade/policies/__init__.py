"""Policies: the composition, the named recipes, and yardsticks."""

from faircascade.policies.bandit import Bandit
from faircascade.policies.base import Policy, PolicyState
from faircascade.policies.click_bandits import (
    DCMKLUCB,
    PBMTS,
    PBMUCB,
    CascadeKLUCB,
    CascadeTS,
    CascadeUCB1,
    TopRank,
    TSCascade,
)
from faircascade.policies.composed import BanditState, ComposedPolicy
from faircascade.policies.fairx import FairXLinUCB, FairXTS
from faircascade.policies.logistic import LogisticTS, LogisticUCB
from faircascade.policies.parts import Parts
from faircascade.policies.recipes import (
    DiscountLinUCB,
    EAEpsilonGreedy,
    EALinTS,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    SharedLinUCB,
)
from faircascade.policies.topical import CascadeHybrid, CascadeLSB
from faircascade.policies.yardsticks import MostPopular, Optimal, Random, Yardstick

__all__ = [
    "DCMKLUCB",
    "PBMTS",
    "PBMUCB",
    "Bandit",
    "BanditState",
    "CascadeHybrid",
    "CascadeKLUCB",
    "CascadeLSB",
    "CascadeTS",
    "CascadeUCB1",
    "ComposedPolicy",
    "DiscountLinUCB",
    "EAEpsilonGreedy",
    "EALinTS",
    "EALinUCB",
    "EARSLinUCB",
    "EpsilonGreedy",
    "FRMLinUCB",
    "FairXLinUCB",
    "FairXTS",
    "LinTS",
    "LinUCB",
    "LogisticTS",
    "LogisticUCB",
    "MostPopular",
    "Optimal",
    "Parts",
    "Policy",
    "PolicyState",
    "Random",
    "SharedLinUCB",
    "TSCascade",
    "TopRank",
    "Yardstick",
]
