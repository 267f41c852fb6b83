"""The page of studies: whatever was run, as far as it is finished, and beside the paper."""

from faircascade.report.study.exhibits import EXHIBITS, check_show
from faircascade.report.study.published.compare import count_verdicts
from faircascade.report.study.published.reproduction import write_reproduction
from faircascade.report.study.write import write_study

__all__ = ["EXHIBITS", "check_show", "count_verdicts", "write_reproduction", "write_study"]
