"""Which positions of a slate a policy takes as seen."""

from faircascade.observations.base import Observation
from faircascade.observations.first_click import FirstClick

__all__ = ["FirstClick", "Observation"]
