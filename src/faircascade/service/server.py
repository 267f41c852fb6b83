"""The server process: event loop, signals, shutdown."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from threadpoolctl import threadpool_limits

from faircascade.policies import Policy
from faircascade.service.acceptor import Acceptor
from faircascade.service.audit_log import AuditFile, AuditLog
from faircascade.service.bootstrap import PolicyChoice, start_service
from faircascade.service.catalogue.free_memory import keep_little
from faircascade.service.catalogue.sources import Source
from faircascade.service.demo import Demo, SimulatedUsers
from faircascade.service.history import History
from faircascade.service.house import described
from faircascade.service.http import create_app
from faircascade.service.http.app import Beside
from faircascade.service.http.connections import KEEP_ALIVE, GuardedProtocol
from faircascade.service.http.metrics import share_values
from faircascade.service.keys import Keys
from faircascade.service.service import EVENT_LOG, Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.sockets import address_of, is_local
from faircascade.service.stores.registry import public_address
from faircascade.service.worker import Worker

if TYPE_CHECKING:  # it takes a library for Parquet along
    from faircascade.service.event_log.config import EventLogConfig

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 10
"""Seconds that requests have to finish once the server is asked to stop."""
SWITCH_INTERVAL = 0.001
"""Seconds after which threads switch: the one that commits must not wait for long."""
BACKLOG = 2048
DRAIN_SECONDS = 1.0
"""Seconds in which open connections are asked to close before they are cut off."""
FORCED_STOP_SECONDS = 2.0
"""Seconds for closing the store when the server is asked to stop a second time."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """How to run the server."""

    store: str
    """Address of the store."""
    source: Source | None = None
    history: History | None = None
    policy: Policy | PolicyChoice | None = None
    seed: int | None = None
    settings: ServiceSettings
    keys: Keys | None = None
    host: str = ""
    """The host it listens on, which requests may name."""
    access_log: bool = False
    audit_log: AuditFile | None = None
    event_log: EventLogConfig | None = None
    demo_rate: float = 0.0
    """Slates per second that simulated users ask for, if the source is the demo."""
    worker: Worker | None = None
    """Which worker it is, if there are several."""
    traces: str | None = None
    """Address of a collector of traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """Facts about a running server, to be printed or logged."""

    dashboard: str
    reference: str
    policy: str
    items: int
    store: str
    keys: str
    house: str = "none"
    """Rules, rewards, cold start and default outcome, those that are on."""


Announce = Callable[[ServerInfo], None]


def serve(plan: ServerConfig, listener: socket.socket, announce: Announce) -> None:
    """Serve until the process is asked to stop, by SIGTERM or Ctrl-C."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    keep_little()
    threadpool_limits(1, user_api="blas")  # scoring is short, and requests come side by side
    sys.setswitchinterval(SWITCH_INTERVAL)
    for number in _SIGNALS:
        signal.signal(number, _interrupt)  # until the server runs
    try:
        with asyncio.Runner(debug=False, loop_factory=_loop_factory()) as runner:
            runner.run(_serve(plan, listener, announce))
    except KeyboardInterrupt:
        log.info("stopped before it was serving")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ModuleNotFoundError:  # there is none for Windows
        return asyncio.SelectorEventLoop
    return uvloop.new_event_loop


async def _serve(plan: ServerConfig, listener: socket.socket, announce: Announce) -> None:
    service = await start_service(
        plan.store,
        source=plan.source,
        policy=plan.policy,
        seed=plan.seed,
        settings=plan.settings,
        history=plan.history,
        files=() if plan.worker is None else plan.worker.files,
    )
    beside: list[Beside] = []
    if (worker := plan.worker) is not None:
        share_values(worker)
        beside.append(lambda _: worker.beat())
    if plan.event_log is not None and (plan.worker is None or plan.worker.is_first):
        beside.append(await _log_writer(plan.event_log, service))
    elif plan.event_log is None and await service.store.get_meta(EVENT_LOG) is not None:
        log.warning(
            "this store has an event log, which this service does not write; one service needs "
            "--event-log, or end the log with 'faircascade store unlog'"
        )
    if isinstance(plan.source, Demo) and plan.demo_rate > 0:
        beside.append(SimulatedUsers(plan.source.environment, rate=plan.demo_rate).run)
    tracing = None
    if traces_wanted(plan.traces):
        from faircascade.service.tracing import Tracing  # an extra

        tracing = Tracing.to(plan.traces, worker=None if worker is None else worker.number)
        tracing.watch(service)
    app = create_app(
        service,
        keys=plan.keys,
        beside=beside,
        access_log=plan.access_log,
        audit_log=AuditLog(plan.audit_log),
        worker=plan.worker,
        tracing=tracing,
        host=plan.host if plan.keys is None and is_local(listener) else None,
    )
    config = uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # nothing here depends on where a request came from
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )

    def listening() -> None:
        if plan.worker is None or plan.worker.leading:
            announce(_facts(plan, service, listener))
        if plan.worker is not None:
            plan.worker.ready()

    leaving = None if worker is None else worker.leave
    server = _Server(config, service, listening, leaving, shared=worker is not None)
    for number in _SIGNALS:
        # Uvicorn has handlers of its own while it runs, and afterwards raises what it got again.
        signal.signal(number, lambda *_: server.stop())
    gc.collect()
    gc.freeze()  # what is here now stays: going through all of it would hold up requests
    await server.serve(sockets=[listener])
    if tracing is not None:
        await asyncio.to_thread(tracing.stop)
    if server.force_exit:
        log.warning("stopped at once; requests under way were cut off")
    else:
        log.info("stopped")


async def _log_writer(config: EventLogConfig, service: Service) -> Beside:
    """Return what writes the event log; it has begun, unless another service writes it."""
    writer = config.writer(service)
    try:
        await writer.start()
    except BaseException:
        await service.stop()
        raise
    return writer.run


def traces_wanted(url: str | None) -> bool:
    """Say whether traces were asked for, by an address or by the variables of OpenTelemetry."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    names = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    none = os.environ.get("OTEL_TRACES_EXPORTER", "") == "none"
    return url is not None or (not none and any(os.environ.get(name) for name in names))


class _Server(uvicorn.Server):
    """Announces that it listens, and shuts down in order.

    On SIGTERM it takes no more connections, reports that it is not ready, and closes open
    connections with their next answer, so that a proxy can go elsewhere without losing a request.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        service: Service,
        listening: Callable[[], None],
        leaving: Callable[[], None] | None = None,
        *,
        shared: bool,
    ) -> None:
        super().__init__(config)
        self._shared = shared
        self._service = service
        self._listening = listening
        self._leaving = leaving
        self._leave_at = inf
        self._acceptors: list[Acceptor] = []

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and not self._service.stopping:
            self._service.stopping = True
            self._leave_at = monotonic() + DRAIN_SECONDS
            if self._leaving is not None:
                self._leaving()
            closing = (b"connection", b"close")
            self.config.encoded_headers.append(closing)
            self.server_state.default_headers = [*self.server_state.default_headers, closing]
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        if self._service.stopping:
            await self._stop_listening()
            gone = not self.server_state.connections
            self.should_exit |= gone or monotonic() >= self._leave_at
        return await super().on_tick(counter)

    async def _stop_listening(self) -> None:
        acceptors, self._acceptors = self._acceptors, []
        for acceptor in acceptors:
            await acceptor.stop()

    def _protocol(self) -> asyncio.Protocol:
        return GuardedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    def stop(self) -> None:
        """Finish what was begun, then end."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        for listener in sockets or ():
            listener.listen(BACKLOG)
            connections = self.server_state.connections
            acceptor = Acceptor(listener, self._protocol, connections, shared=self._shared)
            acceptor.start()
            self._acceptors.append(acceptor)
        self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._stop_listening()
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn would leave everything as it is, and then complain
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            await self._cut_off()

    async def _cut_off(self) -> None:
        """End requests under way, and close the store."""
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.lifespan.shutdown(), FORCED_STOP_SECONDS)


def _facts(plan: ServerConfig, service: Service, listener: socket.socket) -> ServerInfo:
    address = address_of(listener)
    return ServerInfo(
        dashboard=f"{address}/",
        reference=f"{address}/docs",
        policy=service.policy.label,
        items=len(service.catalogue),
        store=public_address(plan.store),
        house=described(plan.settings),
        keys="off: anybody who can reach it may use it" if plan.keys is None else "on",
    )
