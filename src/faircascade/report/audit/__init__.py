"""The page of an audit: who got the exposure of a click log."""

from faircascade.report.audit.page import write_audit

__all__ = ["write_audit"]
