"""How a policy explores."""

from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.exploration.epsilon import Epsilon
from faircascade.exploration.thompson import Thompson
from faircascade.exploration.ucb import UCB

__all__ = ["UCB", "Epsilon", "Exploration", "SlateRequest", "Thompson"]
