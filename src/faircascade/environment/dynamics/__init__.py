"""How users and items change from round to round."""

from faircascade.environment.dynamics.base import Dynamics
from faircascade.environment.dynamics.still import Still

__all__ = ["Dynamics", "Still"]
