"""Changes and refused keys are noted before anybody hears of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faircascade.service.audit_log import AuditFile, AuditLog
from faircascade.service.keys import Keys, new_key
from tests.service.http.applications import Client, app_of, calling, new_service
from tests.service.http.test_keys import bearer
from tests.service.in_process import DIM
from tests.service.test_audit_log import lines

ITEM = {"features": [0.1] * DIM}


@pytest.fixture
def file(tmp_path: Path) -> AuditFile:
    return AuditFile.at(tmp_path / "audit.jsonl")


@pytest.fixture
def audited(tmp_path: Path, file: AuditFile) -> Iterator[Client]:
    with calling(app_of(new_service(tmp_path), audit_log=AuditLog(file))) as client:
        yield client


def said(file: AuditFile) -> list[dict[str, Any]]:
    """Return the lines without times, which must be there."""
    found = lines(file.path)
    assert all(line.pop("time").endswith("Z") for line in found)
    return found


def test_a_change_names_the_key_the_route_the_target_and_the_request(
    tmp_path: Path, file: AuditFile
) -> None:
    keys = tmp_path / "keys.json"
    key = new_key(keys, "shop \u00e9", "write")
    app = app_of(new_service(tmp_path), keys=Keys.load(keys), audit_log=AuditLog(file))
    with calling(app) as client:
        headers = {**bearer(key), "X-Request-ID": "request-1"}
        assert client.put("/v1/items/new", ITEM, headers=headers).status_code == 201
    (line,) = said(file)
    assert line == {
        "event": "change",
        "key": "shop \u00e9",
        "address": "127.0.0.1",
        "method": "PUT",
        "route": "/v1/items/{item}",
        "target": {"item": "new"},
        "status": 201,
        "outcome": "done",
        "request_id": "request-1",
    }
    assert key not in file.path.read_text()


def test_all_items_of_a_batch_are_named_and_what_fails_too(
    audited: Client, file: AuditFile
) -> None:
    items = [{"item": name, **ITEM} for name in ("x", "y \u00e9", "z")]
    audited.post("/v1/items", {"items": items})
    audited.delete("/v1/items/x")
    audited.delete("/v1/items/x")
    audited.put("/v1/items/w", {"features": [1.0]})
    found = said(file)
    assert found[0]["target"] == {"items": ["x", "y \u00e9", "z"]}
    assert [(line["method"], line["status"], line["outcome"]) for line in found] == [
        ("POST", 200, "done"),
        ("DELETE", 204, "done"),
        ("DELETE", 404, "refused"),
        ("PUT", 422, "refused"),
    ]


def test_who_was_erased_is_not_said_but_can_be_checked(audited: Client, file: AuditFile) -> None:
    audited.recommend("ann the first")
    audited.delete("/v1/users/ann%20the%20first")
    (line,) = said(file)
    assert line["target"] == {"user_hash": file.pseudonym("ann the first")}
    assert "ann" not in json.dumps(line)


def test_traffic_and_reading_are_not_noted(audited: Client, file: AuditFile) -> None:
    slate = audited.recommend()
    audited.learn(slate["impression_id"], clicked_position=1)
    audited.post("/v1/recommendations/batch", {"requests": [{"user": "bob"}]})
    audited.post("/v1/recommendations", {"user": ""})
    for path in ("/v1/items", "/v1/users/ann", "/metrics", "/v1/items/zz"):
        audited.get(path)
    assert said(file) == []


def test_refused_keys_are_noted_with_the_name_of_the_key_if_it_is_known(
    tmp_path: Path, file: AuditFile
) -> None:
    keys = tmp_path / "keys.json"
    key = new_key(keys, "wall", "read")
    app = app_of(new_service(tmp_path), keys=Keys.load(keys), audit_log=AuditLog(file))
    with calling(app) as client:
        client.get("/v1/users/ann", headers=bearer(key))
        client.get("/v1/users/ann", headers=bearer("fck_guessed"))
        client.delete("/v1/items/a")
        client.post("/v1/policies", {}, headers=bearer(new_key(keys, "shop", "write")))
    found = said(file)
    assert {line["event"] for line in found} == {"refused key"}
    assert [(line["key"], line["route"], line["status"]) for line in found][:3] == [
        ("wall", "/v1/users", 403),
        (None, "/v1/users", 401),
        (None, "/v1/items", 401),
    ]
    text = file.path.read_text()
    assert "ann" not in text
    assert "guessed" not in text


def test_refusals_cannot_fill_the_disk(tmp_path: Path, file: AuditFile) -> None:
    keys = tmp_path / "keys.json"
    key = new_key(keys, "shop", "write")
    app = app_of(new_service(tmp_path), keys=Keys.load(keys), audit_log=AuditLog(file))
    with calling(app) as client:
        for _ in range(300):
            client.get("/v1/items")
        client.put("/v1/items/new", ITEM, headers=bearer(key))
    found = said(file)
    assert 60 <= len(found) <= 70
    assert found[-1]["event"] == "change"
    assert sum(line.get("refusals_left_out", 0) for line in found) == 301 - len(found)


def test_what_cannot_be_noted_is_not_acknowledged_and_then_not_done(
    audited: Client, file: AuditFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        answer = audited.put("/v1/items/new", ITEM)
        assert answer.status_code == 500
        assert answer.json()["detail"].endswith("cannot be written; the change may have been made")
        answer = audited.put("/v1/items/newer", ITEM)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["detail"] == "the audit log cannot be written; nothing was changed"
        audited.recommend()  # that goes on
    assert audited.get("/v1/items/newer").status_code == 404
    assert audited.put("/v1/items/newer", ITEM).status_code == 201
    assert [line["target"] for line in said(file)] == [{"item": "newer"}]


def test_without_a_file_changes_go_to_the_log_which_names_no_user(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    client.recommend("ann")
    client.put("/v1/items/new", ITEM)
    client.delete("/v1/users/ann")
    found = [vars(record) for record in caplog.records if record.getMessage() == "audit"]
    assert [(line["route"], line["target"]) for line in found] == [
        ("/v1/items/{item}", {"item": "new"}),
        ("/v1/users/{user}", {"user_hash": None}),
    ]
