"""Click logs: what was shown to whom, and what was clicked."""

from faircascade.data.log.event_log import EventLogWriter, LoggedImpression
from faircascade.data.log.impressions import Impressions, Propensity
from faircascade.data.log.log import Log, as_log

__all__ = [
    "EventLogWriter",
    "Impressions",
    "Log",
    "LoggedImpression",
    "Propensity",
    "as_log",
]
