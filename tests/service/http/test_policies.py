"""Named policies, shadows and the kill switch over HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from faircascade.service.audit_log import AuditFile, AuditLog
from faircascade.service.keys import Keys, new_key
from faircascade.service.service import Service
from tests.service.http.applications import Client, app_of, calling, new_service
from tests.service.http.test_keys import bearer

LINUCB = {"policy": "linucb", "parameters": {"alpha": 0.5}}
BAD = [
    ({"policy": "nope"}, "body.policy must be one of bandit, "),
    ({"policy": "optimal"}, "body.policy cannot be 'optimal': it needs to know what users like"),
    ({"policy": "shared-linucb"}, "body.policy cannot be 'shared-linucb': its users learn from"),
    ({"policy": "cascade-lsb"}, "body.policy cannot be 'cascade-lsb': items have no topics"),
    (
        {"policy": "linucb", "parameters": {"alfa": 1}},
        "body.parameters cannot be used: policy 'linucb' has no parameter 'alfa' (did you mean",
    ),
    (
        {"policy": "linucb", "parameters": {"alpha": -1}},
        "body.parameters.alpha must be >= 0, got -1.0",
    ),
    (
        {"policy": "linucb", "parameters": {"reranker": {"name": "no"}}},
        "body.parameters.reranker.name must be one of ",
    ),
    ({"policy": "linucb", "knowledge": "all"}, "body.knowledge must be one of 'shared', "),
    ({"policy": "linucb", "alpha": 1}, "body.alpha is not a field; there are: policy, "),
    ({}, "body.policy is missing"),
]


def client_service(client: Client) -> Service:
    service: Service = client.app.state.dependencies.service
    return service


def policy(client: Client, name: str = "default") -> dict[str, Any]:
    return dict(client.get(f"/v1/policies/{name}").json())


def test_a_policy_gets_versions_and_one_can_go_back(client: Client) -> None:
    first = policy(client)
    answer = client.put("/v1/policies/default", LINUCB)
    assert answer.status_code == 200
    second = answer.json()
    assert second == policy(client)
    assert [one["label"] for one in second["versions"]] == ["EALinUCB log", "LinUCB"]
    assert [one["current"] for one in second["versions"]] == [False, True]
    assert second["versions"][1]["parameters"]["alpha"] == 0.5
    assert client.recommend()["policy"] == {"name": "linucb", "version": second["version"]}
    assert client.put("/v1/policies/default", LINUCB).json() == second  # nothing changed

    body = {"version": first["version"]}
    third = client.put("/v1/policies/default/version", body).json()
    assert third["version"] == first["version"]
    assert client.recommend()["policy"] == {"name": "ealinucb", "version": first["version"]}
    changes = client.get("/v1/policies").json()["changes"]
    assert [change["text"] for change in changes] == [
        "default is EALinUCB log",
        "default is LinUCB",
        "default is EALinUCB log again",
    ]


def test_arms_have_sums_of_their_own_where_they_learn_differently(client: Client) -> None:
    client.put("/v1/policies/default", LINUCB)
    bodies = {
        "bolder": {"policy": "linucb", "parameters": {"alpha": 1.0}},
        "sampled": {"policy": "lints"},
        "fairer": {"policy": "ealinucb", "parameters": {"weight": "log"}},
        "apart": {"policy": "linucb", "knowledge": "new"},
        "any": {"policy": "random"},
    }
    for name, body in bodies.items():
        client.put(f"/v1/policies/{name}", body)
    shares = dict.fromkeys(["default", *bodies], 0.1)
    assert client.put("/v1/experiments/test", {"shares": shares}).status_code == 201
    models = {name: policy(client, name)["versions"][-1]["model"] for name in shares}
    assert models["default"] == models["bolder"] == models["sampled"]
    assert len({models[name] for name in ("default", "fairer", "apart")}) == 3
    assert models["any"] is None
    slate = client.recommend()
    client.learn(slate["impression_id"], clicked_position=2)
    known = client.run(client_service(client).store.begin_round, ["ann"]).sums
    lineup = client_service(client).lineup
    sums = {
        name: lineup.models[model].of(known)[0]
        for name, model in models.items()
        if model is not None
    }
    assert all(one[0] == 1 for one in sums.values())  # an answer taught each of them
    assert (sums["fairer"] != sums["default"]).any()


def test_a_new_name_is_served_to_nobody_until_it_is_chosen(client: Client) -> None:
    answer = client.put("/v1/policies/fairer", {**LINUCB, "knowledge": "new"})
    assert answer.status_code == 201
    fairer = answer.json()
    assert fairer["versions"][0]["knowledge"] == "new"
    assert client.recommend()["policy"]["name"] == "ealinucb"
    body = {"version": fairer["version"]}
    assert client.put("/v1/policies/default/version", body).json()["version"] == fairer["version"]
    assert client.recommend()["policy"]["version"] == fairer["version"]
    assert client.delete("/v1/policies/fairer").status_code == 204
    assert client.get("/v1/policies/fairer").status_code == 404
    assert [one["name"] for one in client.get("/v1/policies").json()["policies"]] == ["default"]
    assert client.recommend()["policy"]["version"] == fairer["version"]


@pytest.mark.parametrize(("body", "words"), BAD)
def test_what_cannot_be_served_is_refused_in_one_line(
    client: Client, body: dict[str, Any], words: str
) -> None:
    before = client.get("/v1/policies").json()
    answer = client.put("/v1/policies/default", body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(words)
    assert client.get("/v1/policies").json() == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("PUT", "/v1/policies/a%20b", LINUCB, 422, "path.name must be 1 to 64 letters, "),
        ("GET", "/v1/policies/none", None, 404, "path.name 'none' is not the name of a policy"),
        ("DELETE", "/v1/policies/none", None, 404, "path.name 'none' is not the name"),
        ("DELETE", "/v1/policies/default", None, 409, "path.name 'default' is served and must"),
        ("PUT", "/v1/policies/none/version", {"version": "x"}, 404, "path.name 'none' is not"),
        ("PUT", "/v1/policies/default/version", {"version": "x"}, 404, "body.version 'x' is no"),
        ("PUT", "/v1/policies/none/shadow", {"share": 0.1}, 404, "path.name 'none' is not"),
        ("GET", "/v1/policies/none/shadow", None, 404, "path.name 'none' is not the name"),
        ("PUT", "/v1/policies/default/shadow", {"share": 2}, 422, "body.share must be at most 1"),
        ("PUT", "/v1/kill-switch", {"policy": "linucb"}, 422, "body.policy must be one of"),
        ("POST", "/v1/kill-switch", {"policy": None}, 405, "this path takes GET, HEAD, PUT"),
    ],
)
def test_other_mistakes_are_told_apart(
    client: Client, method: str, path: str, body: Any, status: int, detail: str
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(detail)


def test_a_shadow_is_limited_and_shown(client: Client) -> None:
    for n in range(5):
        client.put(f"/v1/policies/p{n}", {"policy": "random"})
        answer = client.put(f"/v1/policies/p{n}/shadow", {"share": 1})
    assert answer.status_code == 409
    assert answer.json()["detail"].startswith("path.name 'p4' would be one more than 4 policies")
    assert policy(client, "p3")["shadow_share"] == 1.0
    shown = client.get("/v1/policies/p3/shadow").json()
    assert (shown["share"], shown["slates"], shown["common"]) == (1.0, 0, None)


def test_the_kill_switch_is_turned_on_and_off(client: Client) -> None:
    assert client.get("/v1/kill-switch").json() == {"policy": None}
    for name in ("random", "most-popular"):
        assert client.put("/v1/kill-switch", {"policy": name}).json() == {"policy": name}
        slate = client.recommend()
        assert slate["policy"]["name"] == name
        assert client.learn(slate["impression_id"], clicked_position=1).status_code == 200
    assert client.get("/v1/policies").json()["kill_switch"] == "most-popular"
    assert client.put("/v1/kill-switch", {"policy": None}).json() == {"policy": None}
    assert client.recommend()["policy"]["name"] == "ealinucb"
    assert client.get("/v1/users/ann").json()["feedback"] == 2  # they taught what is served now


def test_only_keys_of_administrators_change_something(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    audit = AuditFile.at(tmp_path / "audit.jsonl")
    keys = {role: bearer(new_key(file, role, role)) for role in ("read", "write", "admin")}
    app = app_of(new_service(tmp_path), keys=Keys.load(file), audit_log=AuditLog(audit))
    calls = [
        ("PUT", "/v1/policies/x", LINUCB),
        ("PUT", "/v1/policies/x/shadow", {"share": 0.5}),
        ("PUT", "/v1/experiments/test", {"shares": {"default": 0.5, "x": 0.5}}),
        ("PUT", "/v1/experiments/test/shares", {"shares": {"default": 0.4}}),
        ("PUT", "/v1/experiments/test/state", {"state": "stopped"}),
        ("DELETE", "/v1/experiments/test", None),
        ("DELETE", "/v1/policies/x", None),
        ("PUT", "/v1/kill-switch", {"policy": "random"}),
    ]
    with calling(app) as client:
        for role, statuses in (("read", {403}), ("write", {403}), ("admin", {200, 201, 204})):
            for method, path, body in calls:
                answer = client.request(method, path, json=body, headers=keys[role])
                assert answer.status_code in statuses, answer.text
        for path in ("/v1/policies", "/v1/experiments", "/v1/experiments/test", "/v1/kill-switch"):
            assert client.get(path, headers=keys["read"]).status_code == 200
    lines = [json.loads(line) for line in audit.path.read_text().splitlines()]
    done = [line for line in lines if line["event"] == "change"]
    assert [line["key"] for line in done] == ["admin"] * len(calls)
    assert done[0]["route"] == "/v1/policies/{name}"
    assert done[0]["target"] == {"name": "x", "body": LINUCB}
    assert done[-1]["target"] == {"body": {"policy": "random"}}


def test_metrics_say_what_is_served_now(client: Client) -> None:
    def shown() -> tuple[str, str]:
        lines = client.get("/metrics").text.splitlines()
        (build,) = [line for line in lines if line.startswith("faircascade_build_info{")]
        (switch,) = [line for line in lines if line.startswith("faircascade_kill_switch ")]
        return re.findall(r'policy="([^"]+)"', build)[0], switch.split()[1]

    assert shown() == ("ealinucb", "0.0")
    client.put("/v1/policies/default", LINUCB)
    client.put("/v1/kill-switch", {"policy": "random"})
    assert shown() == ("linucb", "1.0")
