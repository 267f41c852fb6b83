"""Users to serve: who they are, what attracts them, how they click and change."""

from faircascade.environment.delays import Delay, NoDelay
from faircascade.environment.dynamics import Dynamics, Still
from faircascade.environment.environment import Environment, Optimum, Response
from faircascade.environment.instances import load_instances

__all__ = [
    "Delay",
    "Dynamics",
    "Environment",
    "NoDelay",
    "Optimum",
    "Response",
    "Still",
    "load_instances",
]
