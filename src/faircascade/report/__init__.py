"""Reports: tables, figures and pages that open anywhere."""

from faircascade.report.html import write_report
from faircascade.report.study import check_show, write_reproduction, write_study

__all__ = ["check_show", "write_report", "write_reproduction", "write_study"]
