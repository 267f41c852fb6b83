"""What an operator says of an event log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from faircascade.service.event_log.folder import LogFolder
from faircascade.service.event_log.rotation import Rotation
from faircascade.service.event_log.writer import LogWriter
from faircascade.service.service import Service


@dataclass(frozen=True, kw_only=True)
class EventLogConfig:
    """Where and how an event log is written."""

    folder: LogFolder
    rotation: Rotation

    @classmethod
    def of(cls, folder: str | Path, *, format: str = "parquet", rotate: str = "1h,256MB") -> Self:
        """Return what the options of `faircascade serve` say."""
        return cls(folder=LogFolder(folder, format=format), rotation=Rotation.of(rotate))

    def writer(self, service: Service) -> LogWriter:
        """Return what writes the log of a service."""
        return LogWriter(service, self.folder, self.rotation)
