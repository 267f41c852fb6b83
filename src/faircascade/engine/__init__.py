"""Simulation: engines of different speeds that give the same bits."""

from faircascade.engine.merging import join_parts, splittable
from faircascade.engine.result import HEADLINE, Result
from faircascade.engine.simulation import Wanted, simulate, simulate_together

__all__ = [
    "HEADLINE",
    "Result",
    "Wanted",
    "join_parts",
    "simulate",
    "simulate_together",
    "splittable",
]
