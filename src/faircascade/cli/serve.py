"""faircascade serve: recommend and learn over HTTP."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faircascade.cli.console import remark
from faircascade.cli.log_options import LogSettings, defaults, with_log_options
from faircascade.cli.options import (
    Alpha,
    AuditLogPath,
    Beta,
    Epsilon,
    Gamma,
    OtherParameters,
    OwnComponents,
    PolicyName,
    ReadingName,
    Ridge,
    Scale,
    Sigma,
    Weight,
)
from faircascade.cli.policy_options import POLICY_FLAGS, changed_policy
from faircascade.errors import ParameterError
from faircascade.installation import install_command

if TYPE_CHECKING:
    from faircascade.service.bootstrap import PolicyChoice
    from faircascade.service.catalogue.sources import Source
    from faircascade.service.event_log.config import EventLogConfig
    from faircascade.service.history import History
    from faircascade.service.logs import Style
    from faircascade.service.server import ServerInfo
    from faircascade.service.worker import Worker

DEFAULT_STORE = "sqlite:faircascade.db"


@with_log_options
def serve(
    command_line: typer.Context,
    items: Annotated[
        Path | None, typer.Option(help="File of items: Parquet, CSV or TSV with ids and features.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help='Feature columns, such as "f*" or "a,b,c".')
    ] = None,
    topics: Annotated[
        str | None, typer.Option(help='Topic columns, from 0 to 1, such as "topic_*".')
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(help='Columns that requests can filter by, such as "price,tags".'),
    ] = None,
    ranker: Annotated[
        Path | None, typer.Option(help="A saved ranker: its policy, items and user models.")
    ] = None,
    learn: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG",
            help="Click log to learn from before serving; the last options say how it is read.",
        ),
    ] = None,
    learn_new_users: Annotated[
        bool,
        typer.Option(
            "--learn-new-users",
            help="Let --learn leave users alone that the store knows, and learn of the others.",
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve generated items to simulated users.")
    ] = False,
    demo_rate: Annotated[
        float, typer.Option(help="Slates per second that simulated users request.")
    ] = 50.0,
    policy: PolicyName = None,
    weight: Weight = None,
    beta: Beta = None,
    gamma: Gamma = None,
    reading: ReadingName = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    scale: Scale = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    settings: OtherParameters = None,
    components: OwnComponents = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of random draws.", show_default="0")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="FAIRCASCADE_STORE",
            help="sqlite:PATH for one service; redis://HOST:PORT/NUMBER or "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE for several.",
            show_default=DEFAULT_STORE,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that share the work; as many as there are cores.")
    ] = 1,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = 8000,
    keys: Annotated[
        Path | None,
        typer.Option(envvar="FAIRCASCADE_KEYS", help="File of API keys; see 'faircascade keys'."),
    ] = None,
    no_keys: Annotated[
        bool, typer.Option("--no-keys", help="Serve without keys: anybody may use it.")
    ] = False,
    ttl: Annotated[
        float, typer.Option(help="Days for which feedback on a slate is accepted.")
    ] = 7.0,
    rules: Annotated[
        Path | None,
        typer.Option(help="File of rules for all slates, TOML or JSON: where, at_most, pinned."),
    ] = None,
    rewards: Annotated[
        Path | None,
        typer.Option(help="File of TOML that says what clicks and values of feedback are worth."),
    ] = None,
    no_click_after: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="Learn slates without feedback as not clicked after so long.",
            show_default="never",
        ),
    ] = None,
    no_click_shown: Annotated[
        int | None,
        typer.Option(
            help="How many positions of such a slate are taken as shown.", show_default="all"
        ),
    ] = None,
    cold_start: Annotated[
        int | None,
        typer.Option(
            metavar="SLATES",
            help="Let new users begin with what users with the same labels taught; it counts as "
            "so many slates at most.",
            show_default="off",
        ),
    ] = None,
    max_k: Annotated[int, typer.Option(help="Longest slate that may be requested.")] = 100,
    max_body: Annotated[int, typer.Option(help="Largest request body in bytes.")] = 8 * 2**20,
    max_bodies: Annotated[
        int, typer.Option(help="Bytes of all request bodies that are held at a time.")
    ] = 64 * 2**20,
    max_connections: Annotated[int, typer.Option(help="Most connections.")] = 850,
    max_connections_per_peer: Annotated[
        int, typer.Option(help="Most connections from one address.")
    ] = 256,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address or network of a reverse proxy, which may have all connections; "
            "can be given several times.",
        ),
    ] = None,
    rate_limit: Annotated[
        float | None,
        typer.Option(
            help="Requests, answers and items a second that a key may send, or an address if "
            "there are no keys.",
            show_default="no limit",
        ),
    ] = None,
    traces: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Send spans of OpenTelemetry to a collector, such as http://localhost:4318.",
        ),
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
    audit_log: AuditLogPath = None,
    event_log: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            envvar="FAIRCASCADE_EVENT_LOG",
            help="Folder for a log of all slates, answers and changes; 'faircascade evaluate' and "
            "'faircascade store rebuild' read it.",
        ),
    ] = None,
    event_log_format: Annotated[
        str, typer.Option(help="Format of its files: parquet or jsonl.")
    ] = "parquet",
    event_log_rotate: Annotated[
        str,
        typer.Option(help="When its files are whole: a time, a size before compression, or both."),
    ] = "1h,256MB",
    log_format: Annotated[
        str | None,
        typer.Option(
            help="Format of log lines: json or text.", show_default="text on a terminal, else json"
        ),
    ] = None,
    *,
    log_settings: LogSettings,
) -> None:
    """Recommend and learn over HTTP, and show who gets exposure.

    Items come from --items, --ranker or --demo, or from a store that has some already. Without
    --policy the service uses the policy that the store was last served with; other policy options
    change its parameters.
    """
    flags = locals()
    with _extra():
        from faircascade.service.audit_log import AuditFile
        from faircascade.service.graded_rewards import GradedRewards
        from faircascade.service.keys import Keys
        from faircascade.service.logs import configure
        from faircascade.service.rules.rules import Rules
        from faircascade.service.server import ServerConfig, traces_wanted
        from faircascade.service.server import serve as run
        from faircascade.service.settings import DAY, ServiceSettings
        from faircascade.service.stores.base import StoreDown
        from faircascade.service.worker import Worker

    if traces is not None and not traces.startswith(("http://", "https://")):
        raise ParameterError("traces", "must be an address such as http://localhost:4318", traces)
    if no_click_shown is not None and no_click_after is None:
        raise ParameterError("no_click_shown", "needs --no-click-after", no_click_shown)
    if no_click_after is not None and no_click_after >= ttl * 24 * 60:
        rule = f"must be less than --ttl, {ttl * 24 * 60:,g} minutes"
        raise ParameterError("no_click_after", rule, no_click_after)
    if traces_wanted(traces):
        with _extra("otel"):
            import faircascade.service.tracing  # noqa: F401 - told before anything is opened
    worker = Worker.current()
    if no_keys and _on_the_command_line(command_line, "keys"):
        raise ValueError("--keys and --no-keys cannot be combined")
    style = _style(log_format)
    if demo_rate < 0:
        raise ParameterError("demo_rate", "must be at least 0", demo_rate)
    if worker is None and workers != 1:
        raise typer.Exit(_supervise(flags))
    begins = worker is None or worker.leading
    simulates = demo and (worker is None or worker.is_first)
    chosen, history = (_policy(flags), _history(flags)) if begins else (None, None)
    limits = ServiceSettings(
        ttl=ttl * DAY,
        rules=Rules() if rules is None else Rules.load(rules),
        no_click_after=None if no_click_after is None else no_click_after * 60.0,
        no_click_shown=no_click_shown,
        cold_start=cold_start,
        rewards=None if rewards is None else GradedRewards.read(rewards),
        max_k=max_k,
        max_body=max_body,
        max_bodies=max_bodies,
        max_connections=max_connections,
        max_connections_per_peer=max_connections_per_peer,
        proxies=tuple(proxy or ()),
        rate_limit=rate_limit,
    )
    _event_log(flags)  # a mistake is told before anything is opened
    with _opened(worker, flags) as (listener, address):
        plan = ServerConfig(
            store=address,
            source=_source(flags) if begins or simulates else None,
            history=history,
            policy=chosen,
            seed=seed if begins else None,
            settings=limits,
            keys=None if keys is None or no_keys else Keys.load(keys),
            host=host,
            access_log=access_log,
            audit_log=None if audit_log is None else AuditFile.at(audit_log),
            event_log=_event_log(flags),
            demo_rate=demo_rate,
            worker=worker,
            traces=traces,
        )
        configure(style)
        try:
            run(plan, listener, _print if style == "text" else _log)
        except StoreDown as error:
            remark(f"Error: {error}")
            raise typer.Exit(1) from None


def _event_log(flags: Mapping[str, Any]) -> EventLogConfig | None:
    if flags["event_log"] is None:
        return None
    from faircascade.service.event_log.config import EventLogConfig

    return EventLogConfig.of(
        flags["event_log"], format=flags["event_log_format"], rotate=flags["event_log_rotate"]
    )


def _supervise(flags: Mapping[str, Any]) -> int:
    """Serve with several processes; return the exit code."""
    from faircascade.service.logs import configure
    from faircascade.service.settings import DAY
    from faircascade.service.stores.registry import store_at
    from faircascade.service.supervisor import MOST_WORKERS, supervise

    if not 1 <= flags["workers"] <= MOST_WORKERS:
        raise ParameterError("workers", f"must be between 1 and {MOST_WORKERS}", flags["workers"])
    if os.name != "posix":
        raise ParameterError("workers", "must be 1 on this system", flags["workers"])
    with _opened(None, flags) as (listener, address):
        files = store_at(address, ttl=flags["ttl"] * DAY).share()
        configure(_style(flags["log_format"]))
        return supervise(flags["workers"], listener, store=address, files=files)


@contextmanager
def _opened(worker: Worker | None, flags: Mapping[str, Any]) -> Iterator[tuple[socket, str]]:
    """Yield the socket to listen on and the address of the store."""
    from faircascade.service.keys import Keys
    from faircascade.service.sockets import listen

    if worker is not None:
        with socket(fileno=worker.listener) as listener:
            yield listener, worker.store
        return
    known = flags["no_keys"] or flags["keys"] is not None
    with (
        listen(flags["host"], flags["port"]) as listener,
        _place(flags["store"], demo=flags["demo"]) as address,
    ):
        if known and not flags["no_keys"]:
            Keys.load(flags["keys"])
        _check_reach(listener, known=known)
        yield listener, address


@contextmanager
def _extra(extra: str = "serve") -> Iterator[None]:
    """Name the extra to install if a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("faircascade"):
            raise
        what = {"serve": "serving", "otel": "--traces"}[extra]
        raise ValueError(f"{what} needs {error.name}: {install_command(extra)}") from None


def _on_the_command_line(context: typer.Context, name: str) -> bool:
    """Tell whether an option was given there, and not by the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _style(given: str | None) -> Style:
    styles: dict[str, Style] = {"json": "json", "text": "text"}
    if given is None:
        return "text" if sys.stderr.isatty() else "json"
    if given not in styles:
        raise ParameterError("log_format", "must be json or text", given)
    return styles[given]


def _policy(flags: Mapping[str, Any]) -> PolicyChoice | None:
    """Return how to come by the policy that was asked for, None if none was."""
    given = [
        name for name in ("policy", *POLICY_FLAGS, "settings") if flags[name] not in (None, [])
    ]
    if not given:
        return None
    if flags["ranker"] is not None:
        option = "set" if given[0] == "settings" else given[0]
        raise ValueError(f"--{option} cannot be combined with --ranker, which has its own policy")
    name, settings = flags["policy"], flags["settings"] or []
    if name is not None:
        changed_policy(None, name, flags, settings)  # a mistake is told before anything is opened
    return lambda last: changed_policy(last, name, flags, settings)


def _source(flags: Mapping[str, Any]) -> Source | None:
    from faircascade.service.catalogue.sources import ItemsFile, RankerFile
    from faircascade.service.demo import Demo

    given = [f"--{name}" for name in ("items", "ranker", "demo") if flags[name]]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} cannot be combined: items come from one of them")
    for option in ("features", "topics", "attributes"):
        if flags[option] is not None and flags["items"] is None:
            raise ValueError(f"--{option} needs --items, whose columns it names")
    if flags["items"] is not None:
        columns = (flags[name] for name in ("features", "topics", "attributes"))
        return ItemsFile(flags["items"], *columns)
    if flags["ranker"] is not None:
        return RankerFile(flags["ranker"])
    return Demo() if flags["demo"] else None


def _history(flags: Mapping[str, Any]) -> History | None:
    from faircascade.service.history import History

    settings: LogSettings = flags["log_settings"]
    if flags["learn"] is not None:
        history = History(
            path=flags["learn"], settings=settings, new_users=flags["learn_new_users"]
        )
        for note in history.log.notes:  # a mistake is told before anything is opened
            remark(f"Note: {note}")
        return history
    told = [name for name, value in settings.items() if value != defaults().get(name)]
    told += ["learn_new_users"] if flags["learn_new_users"] else []
    if told:
        option = told[0].replace("_", "-")
        raise ValueError(f"--{option} needs --learn, the log that it is about")
    return None


@contextmanager
def _place(store: str | None, *, demo: bool) -> Iterator[str]:
    """Yield the address of the store; a demo without one leaves nothing behind."""
    if store is not None or not demo:
        yield store or DEFAULT_STORE
        return
    with TemporaryDirectory(prefix="faircascade-", ignore_cleanup_errors=True) as folder:
        yield f"sqlite:{Path(folder, 'demo.db')}"


def _check_reach(listener: socket, *, known: bool) -> None:
    """Refuse to be open to other machines by mistake."""
    from faircascade.service.sockets import address_of, is_local

    if not known and not is_local(listener):
        raise ValueError(
            f"{address_of(listener)} can be reached from other machines: give --keys FILE (made "
            "with 'faircascade keys new FILE NAME'), or --no-keys to let anybody use it"
        )


def _print(facts: ServerInfo) -> None:
    remark(
        f"Dashboard:     {facts.dashboard}\n"
        f"API reference: {facts.reference}\n"
        f"Policy:        {facts.policy}\n"
        f"Items:         {facts.items:,}\n"
        f"Store:         {facts.store}\n"
        f"House rules:   {facts.house}\n"
        f"Keys:          {facts.keys}\n"
        "Press Ctrl-C to stop."
    )


def _log(facts: ServerInfo) -> None:
    logging.getLogger(__name__).info("serving", extra=asdict(facts))
