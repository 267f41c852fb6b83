"""The page that sets studies beside the paper."""

from faircascade.report.reproduction.compare import count_verdicts
from faircascade.report.reproduction.exhibits import EXHIBITS, check_show
from faircascade.report.reproduction.write import write_reproduction

__all__ = ["EXHIBITS", "check_show", "count_verdicts", "write_reproduction"]
