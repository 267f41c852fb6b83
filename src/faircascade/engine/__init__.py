"""Simulation: one meaning, several speeds."""

from faircascade.engine.result import HEADLINE, Result
from faircascade.engine.simulation import simulate

__all__ = ["HEADLINE", "Result", "simulate"]
