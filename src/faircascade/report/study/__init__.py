"""The page of studies: whatever was run, as far as it is finished, and beside the paper."""

from faircascade.report.study.page_writer import write_study
from faircascade.report.study.published.comparison import count_verdicts
from faircascade.report.study.published.reproduction import write_reproduction
from faircascade.report.study.sections import SECTIONS, check_show

__all__ = ["SECTIONS", "check_show", "count_verdicts", "write_reproduction", "write_study"]
