"""Keys: what the file holds, and whom they let in."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faircascade.service.keys import (
    RELOAD_SECONDS,
    UNREADABLE_SECONDS,
    Keys,
    list_keys,
    new_key,
    remove_key,
)
from tests.service.http.applications import Client, app_of, calling, new_service
from tests.service.in_process import Clock

BODY = {"user": "ann"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "keys.json"


@pytest.fixture
def locked(tmp_path: Path, file: Path) -> Iterator[Client]:
    """A client of an application with keys, which has none itself."""
    new_key(file, "somebody", "write")
    with calling(app_of(new_service(tmp_path), keys=Keys.load(file))) as client:
        yield client


def role_of(keys: Keys, token: str) -> str | None:
    found = keys.key_of(token)
    return None if found is None else found.role


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


# the file


def test_a_key_is_long_and_random_and_not_in_the_file(file: Path) -> None:
    keys = [new_key(file, name, "write") for name in ("a", "b")]
    assert len(set(keys)) == 2
    assert all(key.startswith("fck_") and len(key) == 47 for key in keys)
    assert not [key for key in keys if key in file.read_text()]


def test_the_file_is_for_its_owner_only(file: Path) -> None:
    old = os.umask(0)
    try:
        new_key(file, "a", "read")
    finally:
        os.umask(old)
    assert file.stat().st_mode & 0o777 == 0o600


def test_keys_are_listed_without_themselves(file: Path) -> None:
    new_key(file, "a", "read")
    new_key(file, "b", "write")
    assert [(key.name, key.role) for key in list_keys(file)] == [("a", "read"), ("b", "write")]


def test_a_removed_key_is_not_known_any_more(file: Path) -> None:
    key, other = new_key(file, "a", "read"), new_key(file, "b", "write")
    remove_key(file, "a")
    keys = Keys.load(file)
    assert (role_of(keys, key), role_of(keys, other)) == (None, "write")
    with pytest.raises(ValueError, match="has no key 'a'; it has: 'b'"):
        remove_key(file, "a")


def test_names_of_keys_are_distinct_and_printable(file: Path) -> None:
    new_key(file, "a", "read")
    with pytest.raises(ValueError, match="key 'a' exists already"):
        new_key(file, "a", "write")
    for name in ("", "a\nb", "x" * 65):
        with pytest.raises(ValueError, match="name must be 1 to 64 printable characters"):
            new_key(file, name, "read")
    with pytest.raises(ValueError, match="role must be one of read, write, admin, got 'boss'"):
        new_key(file, "b", "boss")


def test_keys_that_are_made_at_once_are_all_kept(file: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda n: new_key(file, f"key {n}", "read"), range(20)))
    keys = Keys.load(file)
    assert [role_of(keys, key) for key in made] == ["read"] * 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not a file of keys"),
        (b"\xff", "not a file of keys"),
        (b"[]", "not a file of keys"),
        (b'{"version": 1}', "not a file of keys"),
        (b'{"version": 1, "keys": [{"name": "a"}]}', "not a file of keys"),
        (b'{"version": 9, "keys": []}', "keys of version 9"),
    ],
)
def test_what_is_not_a_file_of_keys_is_refused(tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "keys").write_bytes(text)
    with pytest.raises(ValueError, match=words):
        Keys.load(tmp_path / "keys")


def test_a_role_or_hash_that_cannot_be_is_refused(file: Path) -> None:
    new_key(file, "a", "read")
    for field, value in (
        ("role", "boss"),
        ("rate", 0),
        ("rate", "x"),
        ("sha256", "00"),
        ("sha256", "x" * 64),
    ):
        document = json.loads(file.read_text())
        document["keys"][0][field] = value
        other = file.with_name("other.json")
        other.write_text(json.dumps(document))
        with pytest.raises(ValueError, match="not a file of keys"):
            Keys.load(other)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing\.json: the file of keys cannot be read"):
        Keys.load(tmp_path / "nothing.json")


def test_changes_of_the_file_are_taken_up_within_a_second(file: Path) -> None:
    clock = Clock(0.0)
    first = new_key(file, "a", "read")
    keys = Keys(file, clock)
    second = new_key(file, "b", "write")
    remove_key(file, "a")
    assert (role_of(keys, first), role_of(keys, second)) == ("read", None)  # not looked at yet
    clock.now += RELOAD_SECONDS
    assert (role_of(keys, first), role_of(keys, second)) == (None, "write")


def test_a_file_that_cannot_be_read_keeps_the_old_keys_for_a_minute(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(0.0)
    key = new_key(file, "a", "read")
    keys = Keys(file, clock)
    whole = file.read_text()
    file.write_text("{")
    while clock.now < UNREADABLE_SECONDS:
        clock.now += RELOAD_SECONDS
        assert role_of(keys, key) == "read"
    clock.now += RELOAD_SECONDS
    assert [role_of(keys, key) for _ in range(3)] == [None] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "keys cannot be read; the old ones stay valid for a minute",
        "keys cannot be read; all requests are refused",
    ]
    file.write_text(whole)
    clock.now += RELOAD_SECONDS
    assert role_of(keys, key) == "read"


def test_without_the_file_nobody_gets_in(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock(0.0)
    key = new_key(file, "a", "read")
    keys = Keys(file, clock)
    file.rename(file.with_name("other.json"))
    for _ in range(3):
        clock.now += RELOAD_SECONDS
        assert role_of(keys, key) is None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "keys cannot be read; all requests are refused"
    file.with_name("other.json").rename(file)
    clock.now += RELOAD_SECONDS
    assert role_of(keys, key) == "read"


def test_a_minute_begins_anew_once_the_file_was_read(file: Path) -> None:
    clock = Clock(0.0)
    key = new_key(file, "a", "read")
    keys = Keys(file, clock)
    whole = file.read_text()
    for _ in range(3):
        file.write_text("{")
        clock.now += UNREADABLE_SECONDS - RELOAD_SECONDS
        assert role_of(keys, key) == "read"
        file.write_text(whole)
        clock.now += RELOAD_SECONDS
        assert role_of(keys, key) == "read"


# whom they let in


@pytest.mark.parametrize("path", ["/", "/docs", "/static/base.css", "/healthz", "/readyz"])
def test_some_pages_need_no_key(locked: Client, path: str) -> None:
    assert locked.get(path).status_code == 200
    assert locked.get("/openapi.json").status_code == 200


@pytest.mark.parametrize("path", ["/v1/policy", "/metrics", "/v1/nothing", "/docs/x"])
def test_everything_else_needs_a_key(locked: Client, path: str) -> None:
    answer = locked.get(path)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["detail"] == "a key is required: Authorization: Bearer KEY"


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Basic YTpi", "fck_x"])
def test_what_is_not_a_bearer_key_is_none(locked: Client, given: str) -> None:
    answer = locked.get("/v1/policy", headers={"Authorization": given})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("given", ["fck_wrong", "\u00e9", "x" * 5000])
def test_a_wrong_key_is_not_known(locked: Client, given: str) -> None:
    header = {"Authorization": f"Bearer {given}".encode("latin-1")}
    answer = locked.get("/v1/policy", headers=header)
    assert (answer.status_code, answer.json()["detail"]) == (401, "the key is not known")
    assert given not in answer.text


def test_a_read_key_only_reads_and_a_write_key_does_both(tmp_path: Path, file: Path) -> None:
    read, write = (bearer(new_key(file, role, role)) for role in ("read", "write"))
    with calling(app_of(new_service(tmp_path), keys=Keys.load(file))) as client:
        for headers in (read, write, {"Authorization": write["Authorization"].lower()[:6]}):
            expected = 200 if headers in (read, write) else 401
            assert client.get("/v1/policy", headers=headers).status_code == expected
        assert client.request("HEAD", "/v1/policy", headers=read).status_code == 200
        for method, path in (("POST", "/v1/recommendations"), ("DELETE", "/v1/users/ann")):
            answer = client.request(method, path, json=BODY, headers=read)
            assert answer.status_code == 403
            assert answer.json()["detail"].startswith("the key may only read")
        answer = client.post("/v1/recommendations", BODY, headers=write)
        assert answer.status_code == 200


def test_a_read_key_sees_nothing_of_users(tmp_path: Path, file: Path) -> None:
    read, write = (bearer(new_key(file, role, role)) for role in ("read", "write"))
    with calling(app_of(new_service(tmp_path), keys=Keys.load(file))) as client:
        client.post("/v1/recommendations", BODY, headers=write)
        path = f"/v1/users/{BODY['user']}"
        assert client.get(path, headers=write).status_code == 200
        assert client.get(path, headers=read).status_code == 403


def test_the_description_asks_for_a_key_where_one_is_needed(locked: Client) -> None:
    document = locked.get("/openapi.json").json()
    assert document["security"] == [{"key": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert "security" not in document["paths"]["/metrics"]["get"]


def test_the_description_asks_for_no_key_where_there_are_none(client: Client) -> None:
    assert "security" not in client.get("/openapi.json").json()
