"""What a policy believes about its users."""

from faircascade.estimators.ridge import Ridge, RidgeState

__all__ = ["Ridge", "RidgeState"]
