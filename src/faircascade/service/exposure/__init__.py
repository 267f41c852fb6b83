"""How much exposure items get: counted from events, by sliding windows, and summed up."""

from faircascade.service.exposure.account import Snapshot, Trail
from faircascade.service.exposure.following import Exposure
from faircascade.service.exposure.holders import Holders

__all__ = ["Exposure", "Holders", "Snapshot", "Trail"]
