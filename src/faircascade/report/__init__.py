"""Reports: tables, figures and pages that open anywhere."""

from faircascade.report.audit import write_audit
from faircascade.report.evaluation import write_evaluation
from faircascade.report.page_writer import write_report
from faircascade.report.published.comparison import count_verdicts
from faircascade.report.published.reproduction import write_reproduction
from faircascade.report.sections import SECTIONS, check_show

__all__ = [
    "SECTIONS",
    "check_show",
    "count_verdicts",
    "write_audit",
    "write_evaluation",
    "write_report",
    "write_reproduction",
]
