"""How a policy explores."""

from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.exploration.epsilon import Epsilon
from faircascade.exploration.fair_optimism import FairOptimism
from faircascade.exploration.kl_ucb import KLUCB
from faircascade.exploration.shuffled_blocks import ShuffledBlocks
from faircascade.exploration.table_thompson import BetaThompson, GaussianThompson
from faircascade.exploration.thompson import Thompson
from faircascade.exploration.ucb import UCB
from faircascade.exploration.ucb1 import UCB1

__all__ = [
    "KLUCB",
    "UCB",
    "UCB1",
    "BetaThompson",
    "Epsilon",
    "Exploration",
    "FairOptimism",
    "GaussianThompson",
    "ShuffledBlocks",
    "SlateRequest",
    "Thompson",
]
