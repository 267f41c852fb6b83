"""Simulation: one meaning, several speeds."""

from faircascade.engine.parts import join_parts, splittable
from faircascade.engine.result import HEADLINE, Result
from faircascade.engine.simulation import simulate

__all__ = ["HEADLINE", "Result", "join_parts", "simulate", "splittable"]
