"""What a log of impressions teaches a policy about its users."""

from faircascade.history.order import learn_in_order
from faircascade.history.reader import LearnedLog, LogReader, check_learnable
from faircascade.history.sums import UserSums, has_sums, learn_sums

__all__ = [
    "LearnedLog",
    "LogReader",
    "UserSums",
    "check_learnable",
    "has_sums",
    "learn_in_order",
    "learn_sums",
]
