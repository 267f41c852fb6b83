"""Simulation: one meaning, several speeds."""

from faircascade.engine.result import HEADLINE, Result
from faircascade.engine.simulate import simulate

__all__ = ["HEADLINE", "Result", "simulate"]
