"""What feedback is worth."""

from faircascade.rewards.base import RewardModel, RewardTable
from faircascade.rewards.exposure_aware import ExposureAware
from faircascade.rewards.regression import RegressionTable
from faircascade.rewards.standard import Standard
from faircascade.rewards.weights import RBP, Custom, Linear, Log, Scaled, Weight, as_weight

__all__ = [
    "RBP",
    "Custom",
    "ExposureAware",
    "Linear",
    "Log",
    "RegressionTable",
    "RewardModel",
    "RewardTable",
    "Scaled",
    "Standard",
    "Weight",
    "as_weight",
]
