"""Spec files: what to run, and where in a file a mistake is."""

from faircascade.experiment.spec.errors import SpecError
from faircascade.experiment.spec.spec import Spec

__all__ = ["Spec", "SpecError"]
