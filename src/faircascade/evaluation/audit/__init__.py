"""Who got exposure: metrics of a click log, by item, group, position and period."""

from faircascade.evaluation.audit.audit import Audit, audit
from faircascade.evaluation.audit.intervals import Estimate, Estimates

__all__ = ["Audit", "Estimate", "Estimates", "audit"]
