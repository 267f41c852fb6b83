"""What the processes of a service take of the machine, all workers together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from faircascade.service.worker import Worker
from faircascade.service.workforce import Workforce

_TICKS = os.sysconf("SC_CLK_TCK") if os.name == "posix" else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if os.name == "posix" else 4096


class WorkersCollector(Collector):
    """How many workers serve, and how often one was started again; of one process, 1 and 0."""

    def __init__(self, worker: Worker | None) -> None:
        self._worker = worker

    def collect(self) -> Iterator[Metric]:
        """Return the numbers as they are now."""
        serving, restarts = 1, 0
        if self._worker is not None:
            workforce = Workforce.read(self._worker.folder)
            serving, restarts = len(workforce.serving), workforce.restarts
        about = "Processes that take requests."
        yield GaugeMetricFamily("faircascade_workers", about, serving)
        about = "Times that a worker ended, and was started again."
        yield CounterMetricFamily("faircascade_worker_restarts", about, restarts)


class ProcessesCollector(Collector):
    """What `prometheus_client.ProcessCollector` says of one process, of all workers together.

    CPU and memory are added up. CPU includes workers that ended, so that it never falls. Open files
    are those of the worker that has most, as each has the whole limit for itself.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def collect(self) -> Iterator[Metric]:
        """Return the numbers as they are now; nothing where there is no /proc."""
        workforce = Workforce.read(self._worker.folder)
        cpu, memory, virtual, files = 0.0, 0, 0, [0]
        workers = (*workforce.serving.values(), *workforce.leaving.values())
        for pid in (workforce.supervisor, *workers):
            with suppress(OSError, IndexError):  # it has just ended
                stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                cpu += sum(map(int, stat[11:15])) / _TICKS  # its own, and that of ended children
                virtual += int(stat[20])
                memory += int(stat[21]) * _PAGE
                files.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))
        if not memory:
            return
        import resource  # there is none on Windows, nor are there workers

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        about = "Seconds of CPU that all processes took."
        yield CounterMetricFamily("process_cpu_seconds", about, cpu)
        about = "Resident memory of all processes, what they share counted for each."
        yield GaugeMetricFamily("process_resident_memory_bytes", about, memory)
        about = "Virtual memory of all processes."
        yield GaugeMetricFamily("process_virtual_memory_bytes", about, virtual)
        about = "Open files of the process that has most."
        yield GaugeMetricFamily("process_open_fds", about, max(files))
        yield GaugeMetricFamily("process_max_fds", "Most files that a process may open.", limit)
