"""Which positions of a slate a policy takes as seen."""

from faircascade.observations.all import AllPositions
from faircascade.observations.base import Observation
from faircascade.observations.examination import Examination
from faircascade.observations.first_click import FirstClick
from faircascade.observations.last_click import LastClick

__all__ = ["AllPositions", "Examination", "FirstClick", "LastClick", "Observation"]
