"""Policies: the composition, the named recipes, and yardsticks."""

from faircascade.policies.bandit import Bandit, BanditState, ComposedPolicy, Parts
from faircascade.policies.base import Policy, PolicyState
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
)
from faircascade.policies.topical import CascadeHybrid, CascadeLSB
from faircascade.policies.yardsticks import MostPopular, Optimal, Random, Yardstick

__all__ = [
    "Bandit",
    "BanditState",
    "CascadeHybrid",
    "CascadeLSB",
    "ComposedPolicy",
    "DiscountLinUCB",
    "EAEpsilonGreedy",
    "EALinTS",
    "EALinUCB",
    "EARSLinUCB",
    "EpsilonGreedy",
    "FRMLinUCB",
    "LinTS",
    "LinUCB",
    "MostPopular",
    "Optimal",
    "Parts",
    "Policy",
    "PolicyState",
    "Random",
    "Yardstick",
]
