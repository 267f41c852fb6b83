"""When feedback reaches the policy."""

from faircascade.environment.delays.base import Delay
from faircascade.environment.delays.none import NoDelay

__all__ = ["Delay", "NoDelay"]
