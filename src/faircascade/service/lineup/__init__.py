"""Which policies a service has, who gets which, and what of each user they know."""

from faircascade.service.lineup.experiment import Experiment
from faircascade.service.lineup.lineup import DEFAULT, Change, Lineup
from faircascade.service.lineup.models import Model
from faircascade.service.lineup.policies import Knowledge, NamedPolicy, PolicyVersion

__all__ = ["DEFAULT", "Change", "Experiment", "Knowledge", "Lineup", "Model", "NamedPolicy"]
__all__ += ["PolicyVersion"]
