"""`faircascade serve`: what its options mean, without serving; tests/service has real servers."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from faircascade import registry
from faircascade.cli.main import app
from faircascade.cli.policy_options import POLICY_FLAGS
from faircascade.installation import install_command
from faircascade.policies import EALinUCB, EpsilonGreedy, LinTS, LinUCB
from faircascade.ranker import Ranker
from faircascade.service import logs, server
from faircascade.service.catalogue.sources import ItemsFile, RankerFile
from faircascade.service.demo import Demo
from faircascade.service.house import described
from faircascade.service.keys import new_key
from faircascade.service.rules.rules import Rules
from faircascade.service.server import ServerConfig, ServerInfo
from faircascade.service.stores.base import StoreDown


class Served:
    """Stands in for a server: remembers what it was to serve."""

    def __init__(self) -> None:
        self.plan: ServerConfig | None = None
        self.address: tuple[str, int] | None = None
        self.style = ""
        self.error: Exception | None = None

    def __call__(
        self, plan: ServerConfig, listener: socket.socket, announce: server.Announce
    ) -> None:
        if plan.policy is not None:
            plan.policy(None)  # as on a store that is new
        self.plan, self.address = plan, listener.getsockname()[:2]
        if self.error is not None:
            raise self.error
        place = "http://127.0.0.1:1"
        announce(
            ServerInfo(
                dashboard=f"{place}/",
                reference=f"{place}/docs",
                policy="LinUCB",
                items=1234,
                store=plan.store,
                keys="on",
                house=described(plan.settings),
            )
        )


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    stand_in = Served()
    monkeypatch.setattr(server, "serve", stand_in)
    monkeypatch.setattr(logs, "configure", lambda style: setattr(stand_in, "style", style))
    return stand_in


def plan_of(run, served: Served, *arguments: str) -> ServerConfig:
    code, out, err = run("serve", "--port", "0", *arguments)
    assert code == 0, err
    assert out == ""
    assert served.plan is not None
    return served.plan


def test_without_options_the_store_decides(run, served: Served) -> None:
    plan = plan_of(run, served)
    assert plan.store == "sqlite:faircascade.db"
    assert (plan.source, plan.policy, plan.seed, plan.keys) == (None, None, None, None)
    assert plan.settings.ttl == 7 * 24 * 3600
    assert served.address is not None
    assert served.address[0] == "127.0.0.1"


def test_policy_options_are_those_of_simulate(run, served: Served) -> None:
    flags = "--policy ealinucb --weight rbp --beta 0.8 --gamma 0.1 --alpha 0.5 --set reranker=ears"
    plan = plan_of(run, served, *flags.split(), "--seed", "4")
    asked = EALinUCB(weight="rbp", beta=0.8, gamma=0.1, alpha=0.5, reranker="ears")
    assert plan.policy(None) == asked
    assert plan.policy(LinTS()) == asked  # a policy that is named begins with its defaults
    assert plan.seed == 4
    assert plan_of(run, served, "--gamma", "0").policy(None) == EALinUCB(gamma=0.0)
    greedy = plan_of(run, served, "--policy", "epsilon-greedy", "--epsilon", "0").policy(None)
    assert greedy == EpsilonGreedy(epsilon=0.0)


def test_options_without_a_policy_change_that_of_last_time(run, served: Served) -> None:
    last = EALinUCB(weight="rbp", beta=0.8, gamma=0.005, reranker="ears")
    choose = plan_of(run, served, "--alpha", "0.5").policy
    assert choose(last) == replace(last, alpha=0.5)
    choose = plan_of(run, served, "--weight", "log").policy
    assert choose(last) == EALinUCB(weight="log", gamma=0.005, reranker="ears")
    with pytest.raises(ValueError, match="policy 'lints' has no parameter 'alpha'"):
        plan_of(run, served, "--alpha", "0.5").policy(LinTS())


def test_simulate_and_serve_have_the_same_policy_options() -> None:
    commands = {
        command.name or command.callback.__name__: command for command in app.registered_commands
    }
    shared = ["policy", *POLICY_FLAGS, "settings"]
    simulate, serve = (
        get_type_hints(commands[name].callback, include_extras=True)
        for name in ("simulate", "serve")
    )
    assert [simulate[name] for name in shared] == [serve[name] for name in shared]


def test_limits_reach_the_service(run, served: Served) -> None:
    flags = "--ttl 0.5 --max-k 20 --max-body 1000 --access-log"
    plan = plan_of(run, served, *flags.split())
    assert (plan.settings.ttl, plan.settings.max_k) == (43_200, 20)
    assert plan.settings.max_body == 1000
    assert plan.access_log


def test_limits_of_connections_reach_the_service(run, served: Served) -> None:
    flags = "--max-bodies 9000000 --max-connections 400 --max-connections-per-peer 100"
    plan = plan_of(run, served, *flags.split(), "--proxy", "::1", "--proxy", "10.0.0.0/8")
    limits = plan.settings
    assert (limits.max_bodies, limits.max_connections) == (9_000_000, 400)
    assert (limits.max_connections_per_peer, limits.proxies) == (100, ("::1", "10.0.0.0/8"))


def test_items_come_from_a_file_a_ranker_or_the_demo(run, served: Served, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,x\na,1\n")
    plan = plan_of(run, served, "--items", "items.csv", "--features", "x")
    assert isinstance(plan.source, ItemsFile)
    assert plan.source.features == "x"
    assert plan.source.attributes is None
    assert plan.settings.rules == Rules()
    Ranker(LinUCB(), items=np.eye(2)).save(tmp_path / "ranker.npz")
    plan = plan_of(run, served, "--ranker", "ranker.npz")
    assert isinstance(plan.source, RankerFile)
    plan = plan_of(run, served, "--demo", "--demo-rate", "5")
    assert isinstance(plan.source, Demo)
    assert plan.demo_rate == 5


def test_attributes_and_rules_are_passed_on(run, served, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("at_most = {supplier = 2}")
    rules = str(tmp_path / "rules.toml")
    plan = plan_of(run, served, "--items", "items.csv", "--attributes", "a,b", "--rules", rules)
    assert plan.source.attributes == "a,b"
    assert plan.settings.rules.at_most == {"supplier": 2}


def test_a_demo_is_kept_only_where_that_is_asked_for(run, served: Served, tmp_path: Path) -> None:
    plan = plan_of(run, served, "--demo")
    assert plan.store.startswith("sqlite:")
    assert not Path(plan.store.removeprefix("sqlite:")).parent.exists()
    assert plan_of(run, served, "--demo", "--store", "sqlite:mine.db").store == "sqlite:mine.db"


def test_the_store_and_the_keys_can_come_from_the_environment(
    run, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_key(tmp_path / "keys.json", "shop", "write")
    monkeypatch.setenv("FAIRCASCADE_STORE", "redis://cache/1")
    monkeypatch.setenv("FAIRCASCADE_KEYS", str(tmp_path / "keys.json"))
    plan = plan_of(run, served)
    assert plan.store == "redis://cache/1"
    assert plan.keys is not None
    assert plan_of(run, served, "--no-keys").keys is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]", "::1"])
def test_this_machine_needs_no_keys(run, served: Served, host: str) -> None:
    if ":" in host and not _has_ipv6():
        pytest.skip("there is no IPv6 on this machine")
    assert plan_of(run, served, "--host", host).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_other_machines_need_keys_unless_that_is_waived(run, served: Served, host: str) -> None:
    if ":" in host and not _has_ipv6():
        pytest.skip("there is no IPv6 on this machine")
    expect_one_line(
        run("serve", "--port", "0", "--host", host),
        "can be reached from other machines: give --keys FILE",
    )
    plan_of(run, served, "--host", host, "--no-keys")


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_a_terminal_gets_words_and_a_pipe_gets_json(
    run, served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    plan_of(run, served)
    assert served.style == "json"
    (record,) = (r for r in caplog.records if r.getMessage() == "serving")
    assert vars(record)["items"] == 1234
    _, _, err = run("serve", "--port", "0", "--log-format", "text")
    assert served.style == "text"
    assert "Dashboard:     http://127.0.0.1:1/\n" in err
    assert "Items:         1,234\n" in err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    plan_of(run, served)
    assert served.style == "text"


def expect_one_line(outcome: tuple[int, str, str], message: str, *, code: int = 2) -> None:
    got, out, err = outcome
    assert got == code, err
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("Error: ")
    assert message in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--items a.csv --demo", "--items and --demo cannot be combined"),
        ("--ranker r.npz --policy linucb", "--policy cannot be combined with --ranker"),
        ("--ranker r.npz --gamma 0", "--gamma cannot be combined with --ranker"),
        ("--ranker r.npz --set alpha=1", "--set cannot be combined with --ranker"),
        ("--features f*", "--features needs --items"),
        ("--attributes price", "--attributes needs --items"),
        ("--rules no.toml", "no.toml: cannot be read"),
        ("--policy linucd", "did you mean 'linucb'?"),
        ("--policy linucb --weight log", "policy 'linucb' has no parameter 'weight'"),
        ("--set threshold=3", "--set must name one of"),
        ("--alpha -1", "alpha must be >= 0, got -1"),
        ("--ttl 0", "ttl must be positive, got 0"),
        ("--max-k 0", "--max-k must be positive, got 0"),
        ("--max-connections 0", "--max-connections must be positive, got 0"),
        ("--max-bodies 5", "--max-bodies must be at least max_body, 8388608, got 5"),
        ("--proxy nginx", "proxy must be an address, or a network such as 10.0.0.0/8, got 'nginx'"),
        ("--port 70000", "port must be between 0 and 65535, got 70000"),
        ("--host 192.0.2.1", "host must be an address of this machine, got '192.0.2.1'"),
        ("--log-format xml", "log-format must be json or text, got 'xml'"),
        ("--keys nowhere.json", "nowhere.json: the file of keys cannot be read"),
        ("--keys keys.json --no-keys", "--keys and --no-keys cannot be combined"),
        ("--demo --demo-rate -1", "demo-rate must be at least 0, got -1"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(
    run, served: Served, arguments: str, message: str
) -> None:
    expect_one_line(run("serve", "--port", "0", *arguments.split()), message)
    assert served.plan is None


def test_a_store_that_is_down_is_one_line_and_exit_code_one(run, served: Served) -> None:
    served.error = StoreDown("redis at cache:6379 cannot be used now: no answer in time")
    expect_one_line(run("serve", "--port", "0"), "redis at cache:6379 cannot be used now", code=1)


def test_a_policy_of_ones_own_is_served_from_its_file(run, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "mine_to_serve.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from faircascade import LinUCB\n"
        "from faircascade.registry import register\n"
        "@register('mine-to-serve')\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(LinUCB):\n"
        "    'Mine.'\n",
        encoding="utf-8",
    )
    try:
        given = ("--components", str(file), "--policy", "mine-to-serve")
        policy = plan_of(run, served, "--demo", *given).policy
        assert policy is not None
        assert policy(None).name == "mine-to-serve"
    finally:
        registry.names.unregister("mine_to_serve")


def test_a_missing_library_is_told_with_how_to_get_it(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "faircascade.service.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    message = f"serving needs uvicorn: {install_command('serve')}"
    expect_one_line(run("serve", "--port", "0"), message)


def test_the_announcement_names_the_rules_of_the_house(run, served: Served, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("at_most = {group = 1}")
    (tmp_path / "rewards.toml").write_text("click = 0.3\n[values]\npurchase = 1")
    files = (f"--rules={tmp_path}/rules.toml", f"--rewards={tmp_path}/rewards.toml")
    on = (*files, "--cold-start=20", "--no-click-after=30", "--log-format=text")
    _, _, err = run("serve", "--port", "0", *on)
    words = "rules (at_most), rewards (click, purchase), cold start (20 slates), no click after 30"
    assert f"House rules:   {words} minutes" in err
