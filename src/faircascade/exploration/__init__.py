"""How a policy explores."""

from faircascade.exploration.base import Exploration, Request
from faircascade.exploration.epsilon import Epsilon
from faircascade.exploration.thompson import Thompson
from faircascade.exploration.ucb import UCB

__all__ = ["UCB", "Epsilon", "Exploration", "Request", "Thompson"]
