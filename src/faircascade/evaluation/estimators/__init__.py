"""Estimators of what another policy would have got, from logged slates."""

from faircascade.evaluation.estimators.base import Missing, SlateEstimator, Sums, Terms
from faircascade.evaluation.estimators.importance import (
    AIPS,
    IIPS,
    IPS,
    RIPS,
    SNIIPS,
    SNIPS,
    SNRIPS,
)
from faircascade.evaluation.estimators.models import CascadeDR, ClickBased, DirectMethod
from faircascade.evaluation.estimators.slates import (
    KINDS,
    Chances,
    EvaluatedSlates,
    PolicySlates,
)

ESTIMATORS: dict[str, SlateEstimator] = {
    estimator.name: estimator
    for estimator in (
        *(CascadeDR(), RIPS(), SNRIPS(), IIPS(), SNIIPS(), IPS(), SNIPS(), AIPS()),
        *(DirectMethod(), ClickBased()),
    )
}
"""All estimators by name, in the order of tables."""

__all__ = [
    "AIPS",
    "ESTIMATORS",
    "IIPS",
    "IPS",
    "KINDS",
    "RIPS",
    "SNIIPS",
    "SNIPS",
    "SNRIPS",
    "CascadeDR",
    "Chances",
    "ClickBased",
    "DirectMethod",
    "EvaluatedSlates",
    "Missing",
    "PolicySlates",
    "SlateEstimator",
    "Sums",
    "Terms",
]
