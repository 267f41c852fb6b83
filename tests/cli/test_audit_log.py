"""Commands that change keys and stores leave a line in the audit log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faircascade.service.keys import list_keys


def test_commands_name_who_ran_them_and_what_they_changed(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    key = run("keys", "new", "keys.json", "shop", "--rate", "5", "--audit-log", "audit.jsonl")[1]
    monkeypatch.setenv("FAIRCASCADE_AUDIT_LOG", "audit.jsonl")
    assert run("keys", "remove", "keys.json", "shop")[0] == 0
    assert run("keys", "remove", "keys.json", "shop")[0] == 2
    text = Path(tmp_path, "audit.jsonl").read_text()
    found = [json.loads(line) for line in text.splitlines()]
    assert [(line["user"], line["command"], line["target"]) for line in found] == [
        ("ada", "keys new", {"key": "shop", "role": "write", "rate": 5.0}),
        ("ada", "keys remove", {"key": "shop"}),
    ]
    assert key.strip() not in text


def test_nothing_is_done_that_cannot_be_noted(run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = run("keys", "new", "keys.json", "shop", "--audit-log", "file/audit.jsonl")
    assert code == 2
    assert "the audit log cannot be written" in err
    with pytest.raises(ValueError, match="cannot be read"):
        list_keys(tmp_path / "keys.json")
