"""Policies: the composition, the named recipes, and yardsticks."""

from faircascade.policies.bandit import Bandit, BanditState
from faircascade.policies.base import Policy
from faircascade.policies.recipes import (
    EAEpsilonGreedy,
    EALinTS,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
)
from faircascade.policies.yardsticks import MostPopular, Optimal, Random

__all__ = [
    "Bandit",
    "BanditState",
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
    "Policy",
    "Random",
]
