"""Online experiments over HTTP."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from faircascade.service import administration, experiment_reports
from faircascade.service.experiments import Monitor
from faircascade.service.service import Service
from tests.service.http.applications import Client

SHARES = {"default": 0.5, "fairer": 0.5}
PATH = "/v1/experiments/test"


@pytest.fixture(autouse=True)
def salts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide users in the same way in every run."""
    numbers = count()
    monkeypatch.setattr(administration, "new_salt", lambda: f"salt {next(numbers)}")


@pytest.fixture
def fairer(client: Client) -> Client:
    client.put("/v1/policies/fairer", {"policy": "random"})
    return client


def begin(client: Client, **fields: Any) -> dict[str, Any]:
    answer = client.put(PATH, {"shares": SHARES, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def visit(client: Client, service: Service, users: int, slates: int = 1) -> dict[str, str]:
    """Let users come and click; return which policy each was served."""
    policies = {}
    for user in range(users):
        for turn in range(slates):
            slate = client.recommend(f"user-{user}")
            clicked = (user + turn) % 3 + 1
            client.learn(slate["impression_id"], clicked_position=clicked)
            policies[slate["user"]] = slate["policy"]["name"]
    client.run(service.exposure.catch_up, service.store)
    return policies


def test_an_experiment_from_its_beginning_to_its_end(fairer: Client, service: Service) -> None:
    service.clock.now += 1.0  # type: ignore[attr-defined]
    said = begin(fairer, relevant=0.1)
    assert (said["state"], said["shares"], said["relevant"]) == ("running", SHARES, 0.1)
    policies = visit(fairer, service, 60)
    assert set(policies.values()) == {"ealinucb", "random"}
    said = fairer.get(PATH).json()
    assert sum(arm["users"] for arm in said["arms"].values()) == 60
    assert sum(arm["answers"] for arm in said["arms"].values()) == 60
    assert said["arms"]["fairer"]["clicks_per_slate"]["value"] == 1.0
    assert said["comparisons"]["fairer"]["clicks_per_slate"]["answer"] == "open"
    assert not said["sample_ratio"]["mismatch"]

    assert fairer.put(f"{PATH}/state", {"state": "stopped"}).json()["state"] == "stopped"
    assert set(visit(fairer, service, 20).values()) == {"ealinucb"}
    assert fairer.put(f"{PATH}/state", {"state": "running"}).json()["state"] == "running"
    assert sum(arm["slates"] for arm in fairer.get(PATH).json()["arms"].values()) == 60

    assert fairer.delete("/v1/policies/fairer").status_code == 409
    assert fairer.delete(PATH).status_code == 204
    assert fairer.delete(PATH).status_code == 404
    ended = fairer.get(PATH).json()
    assert ended["state"] == "ended"
    for name, arm in said["arms"].items():
        counts = ("users", "slates", "answers", "clicks")
        assert [ended["arms"][name][n] for n in counts] == [arm[n] for n in counts]
        low, high = (ended["arms"][name]["equality_b"][end] for end in ("low", "high"))
        assert 0 <= low < high <= 1  # there are ten blocks with users
    assert [change["text"] for change in ended["changes"]] == [
        "test begins: default 0.5, fairer 0.5",
        "test is stopped",
        "test goes on",
        "test has ended",
    ]
    listed = fairer.get("/v1/experiments").json()["experiments"]
    assert [(one["name"], one["state"]) for one in listed] == [("test", "ended")]


def test_a_ramp_from_one_to_all_hundred_percent_never_moves_a_treated_user_back(
    fairer: Client, service: Service
) -> None:
    begin(fairer, shares={"default": 0.01, "fairer": 0.01})
    treated: set[str] = set()
    for share in (0.01, 0.1, 0.5, 0.9, 1.0):
        shares = {"default": min(0.01, round(1 - share, 4)), "fairer": share}
        answer = fairer.put(f"{PATH}/shares", {"shares": shares})
        assert answer.json()["shares"] == shares
        found = {u for u, policy in visit(fairer, service, 80).items() if policy == "random"}
        assert treated <= found
        treated = found
    assert len(treated) == 80
    periods = fairer.get(PATH).json()["periods"]
    assert [one["shares"]["fairer"] for one in periods] == [0.01, 0.1, 0.5, 0.9, 1.0]


def test_a_holdout_is_an_arm_with_the_default_policy(fairer: Client, service: Service) -> None:
    begin(fairer, shares={"default": 0.1, "fairer": 0.9})
    policies = visit(fairer, service, 80)
    kept = [user for user, policy in policies.items() if policy == "ealinucb"]
    assert 0 < len(kept) < 25


def test_an_experiment_of_the_same_name_divides_users_anew(
    fairer: Client, service: Service
) -> None:
    """Otherwise those who had the treatment last time would have it again."""
    found = []
    for _ in range(2):
        begin(fairer)
        found.append(visit(fairer, service, 40))
        fairer.delete(PATH)
    assert found[0] != found[1]


def test_the_same_plan_again_is_no_new_beginning(fairer: Client) -> None:
    first = begin(fairer)
    again = fairer.put(PATH, {"shares": SHARES})
    assert (again.status_code, again.json()) == (200, first)
    other = fairer.put(PATH, {"shares": SHARES, "level": 0.9})
    assert other.status_code == 409
    assert other.json()["detail"] == "path.name cannot begin: 'test' has begun with another plan"
    second = fairer.put("/v1/experiments/second", {"shares": SHARES})
    assert second.json()["detail"] == "path.name cannot begin: 'test' has not ended"


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("", {"shares": {"default": 1}}, "body.shares must have at least 2 entries"),
        ("", {"shares": {}}, "body.shares must have at least 2 entries"),
        ("", {"shares": {"default": 0.6, "fairer": 0.5}}, "body.shares must add up to at most 1"),
        ("", {"shares": {"default": 0.6, "none": 0.1}}, "body.shares must be of policies of this"),
        ("", {"shares": SHARES, "control": "no"}, "body.control must be one of default, fairer"),
        ("", {"shares": SHARES, "level": 1}, "body.level must be less than 1"),
        ("", {"shares": SHARES, "first_look": -1}, "body.first_look must be at least 0"),
        ("", {"shares": {"default": 0.5, "fairer": 0.00001}}, "body.shares.fairer must be a mul"),
        ("", {"shares": {"default": 0.5, "fairer": "a"}}, "body.shares.fairer must be a number"),
        ("/shares", {"shares": {"fairer": 0.9}}, "body.shares must add up to at most 1"),
        ("/shares", {"shares": {"none": 0.1}}, "body.shares must be of policies of this service"),
        ("/state", {"state": "ended"}, "body.state must be one of 'running' or 'stopped'"),
    ],
)
def test_what_cannot_be_is_refused(
    fairer: Client, path: str, body: dict[str, Any], detail: str
) -> None:
    if path:
        begin(fairer)
    before = fairer.get("/v1/policies").json()["number"]
    answer = fairer.put(PATH + path, body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(detail)
    assert fairer.get("/v1/policies").json()["number"] == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", PATH, None),
        ("DELETE", PATH, None),
        ("PUT", f"{PATH}/shares", {"shares": SHARES}),
        ("PUT", f"{PATH}/state", {"state": "stopped"}),
    ],
)
def test_an_experiment_that_there_is_not_is_not_found(
    client: Client, method: str, path: str, body: Any
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("path.name 'test' is not the name of an experiment")


def test_what_an_experiment_says_is_worked_out_once_until_there_is_more(
    fairer: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    look = Monitor.look

    def counted(self: Monitor, *given: Any, **named: Any) -> Any:
        looks.append(1)
        return look(self, *given, **named)

    monkeypatch.setattr(Monitor, "look", counted)
    begin(fairer)
    visit(fairer, service, 20)
    said = [fairer.get(PATH).json() for _ in range(5)]
    assert said[1:] == said[:-1]
    before = len(looks)
    visit(fairer, service, 21)
    assert fairer.get(PATH).json() != said[-1]
    assert len(looks) == before + 1
    fairer.put(f"{PATH}/shares", {"shares": {"fairer": 0.4}})
    assert fairer.get(PATH).json()["shares"]["fairer"] == 0.4


def test_looks_are_kept_with_the_time_and_end_with_a_verdict(
    fairer: Client, service: Service
) -> None:
    begin(fairer)
    for turn in range(3):
        visit(fairer, service, 60)
        service.clock.now += 60 * turn  # type: ignore[attr-defined]
        fairer.run(experiment_reports.look, service)
    said = fairer.get(PATH).json()
    (period,) = said["periods"]
    assert [look["slates"] for look in period["looks"]] == [60, 120, 180]
    assert period["looks"][0]["time"] < period["looks"][1]["time"]
    found = said["comparisons"]["fairer"]["equality_b"]
    assert found["low"] <= found["value"] <= found["high"]
