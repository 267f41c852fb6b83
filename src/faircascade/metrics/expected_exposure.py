"""Expected exposure against its target: EE-L, EE-D and EE-R, after Diaz et al. (2020).

The target exposure of an item is proportional to its merit, so that equally meritorious items
deserve the same; where every merit is 1, it is equal exposure. Exposure is by position (E_P) and,
as the target, in units of its mean over the items, so that catalogues of any size compare:

    EE-D = mean x_i²,  EE-R = mean x_i t_i,  EE-L = mean (x_i − t_i)² = EE-D − 2 EE-R + mean t_i²

The paper adds up over the items of one query; here all slates of a record count as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.metrics.base import ItemMetric
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.tally import Record
from faircascade.registry import register
from faircascade.types import Floats


@register("ee_l")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedExposureLoss(ItemMetric):
    """Mean squared distance between exposure (P) and exposure in proportion to merit, both in
    units of their mean: 0 if they agree."""

    title: ClassVar[str] = "EE-L (loss)"
    higher_is_better: ClassVar[bool] = False

    def of(self, record: Record) -> float:
        return float(np.mean((_relative(exposure_p(record)) - _relative(record.merit)) ** 2))


@register("ee_d")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedExposureDisparity(ItemMetric):
    """Mean square of exposure (P) in units of its mean: 1 if all items have the same."""

    title: ClassVar[str] = "EE-D (disparity)"
    higher_is_better: ClassVar[bool] = False

    def of(self, record: Record) -> float:
        return float(np.mean(_relative(exposure_p(record)) ** 2))


@register("ee_r")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedExposureRelevance(ItemMetric):
    """Mean product of exposure (P) and merit, both in units of their mean: above 1 if items of
    more merit are shown more."""

    title: ClassVar[str] = "EE-R (relevance)"

    def of(self, record: Record) -> float:
        return float(np.mean(_relative(exposure_p(record)) * _relative(record.merit)))


def _relative(values: Floats) -> Floats:
    mean = values.mean()
    return values / mean if mean > 0 else np.full(len(values), np.nan)
