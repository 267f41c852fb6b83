"""`faircascade keys`: a key is printed once, and only its hash is kept."""

from __future__ import annotations

import json
from pathlib import Path

from faircascade.service.keys import Keys
from tests.service.http.test_keys import role_of


def test_a_key_is_printed_once_and_works(run, tmp_path: Path) -> None:
    code, out, err = run("keys", "new", "keys.json", "shop")
    assert code == 0
    key = out.strip()
    assert len(out.splitlines()) == 1
    assert "may read and write" in err
    assert key not in err
    assert key not in (tmp_path / "keys.json").read_text()
    assert role_of(Keys.load(tmp_path / "keys.json"), key) == "write"


def test_a_key_can_be_for_reading_only(run, tmp_path: Path) -> None:
    code, out, err = run("keys", "new", "keys.json", "board", "--read-only", "--json")
    assert code == 0
    made = json.loads(out)
    assert (made["name"], made["role"]) == ("board", "read")
    assert "may only read" in err
    assert role_of(Keys.load(tmp_path / "keys.json"), made["key"]) == "read"


def test_keys_are_listed_and_removed(run, tmp_path: Path) -> None:
    run("keys", "new", "keys.json", "shop")
    run("keys", "new", "keys.json", "board", "--read-only")
    code, out, _ = run("keys", "list", "keys.json", "--json")
    assert code == 0
    assert [(key["name"], key["role"]) for key in json.loads(out)] == [
        ("shop", "write"),
        ("board", "read"),
    ]
    assert "sha256" not in out
    code, out, _ = run("keys", "list", "keys.json")
    assert "shop" in out
    assert "board" in out
    code, out, _ = run("keys", "remove", "keys.json", "shop")
    assert (code, out) == (0, "Removed 'shop'.\n")
    code, out, _ = run("keys", "remove", "keys.json", "board", "--json")
    assert json.loads(out) == {"removed": "board"}
    assert json.loads(run("keys", "list", "keys.json", "--json")[1]) == []


def test_mistakes_are_one_line(run) -> None:
    run("keys", "new", "keys.json", "shop")
    for arguments, message in (
        (("new", "keys.json", "shop"), "key 'shop' exists already"),
        (("remove", "keys.json", "nobody"), "has no key 'nobody'"),
        (("list", "nowhere.json"), "nowhere.json: the file of keys cannot be read"),
        (("new", "keys.json", ""), "name must be 1 to 64 printable characters"),
    ):
        code, out, err = run("keys", *arguments)
        assert (code, out) == (2, "")
        (line,) = err.splitlines()
        assert line.startswith("Error: ")
        assert message in line
