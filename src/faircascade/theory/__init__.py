"""Theorem 1 of the paper: its conditions, its bound, and whether a configuration meets them.

The theorem bounds the n-step regret of one user's bandit. `docs/explanation/theory.md` says what
that is worth: the conditions rarely hold, and where feedback is weighed there are
counterexamples.
"""

from faircascade.theory.conditions import Condition, Conditions, check, environment_conditions
from faircascade.theory.formulas import alpha_min, bound, gamma_max, informative_from

__all__ = [
    "Condition",
    "Conditions",
    "alpha_min",
    "bound",
    "check",
    "environment_conditions",
    "gamma_max",
    "informative_from",
]
