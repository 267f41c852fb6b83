"""How much exposure items get: counted from events, by sliding windows, and summed up."""

from faircascade.service.exposure.consumer import ExposureTracker
from faircascade.service.exposure.counters import ExposureSnapshot, Timeline
from faircascade.service.exposure.recipients import Recipients

__all__ = ["ExposureSnapshot", "ExposureTracker", "Recipients", "Timeline"]
