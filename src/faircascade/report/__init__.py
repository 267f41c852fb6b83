"""Reports: tables, figures and one page that opens anywhere."""

from faircascade.report.html import write_report

__all__ = ["write_report"]
