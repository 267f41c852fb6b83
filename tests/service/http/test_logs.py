"""Log lines: what they say and what they never say."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faircascade.service import logs
from faircascade.service.http import middleware
from faircascade.service.keys import Keys, new_key
from faircascade.service.service import Service
from tests.service.http.applications import app_of, calling

log = logging.getLogger("faircascade.tests")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Give other tests the logging that they had, and these one that no other has changed."""
    root, access = logging.getLogger(), logging.getLogger("uvicorn.access")
    uvicorn = logging.getLogger("uvicorn.error")
    handlers, level, own = root.handlers[:], root.level, uvicorn.level
    uvicorn.setLevel(logging.NOTSET)
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    uvicorn.setLevel(own)
    access.disabled = False


def written(style: logs.Style, level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(style, level=level, stream=stream)
    return stream


def test_a_line_is_json_with_the_fields_of_the_event() -> None:
    stream = written("json")
    log.info("keys were read", extra={"keys": 3, "file": Path("a"), "_of_a_library": 1})
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "event": "keys were read",
        "logger": "faircascade.tests",
        "keys": 3,
        "file": "a",
    }


@pytest.mark.parametrize("style", ["json", "text"])
def test_whatever_is_logged_makes_a_line(style: logs.Style) -> None:
    stream = written(style)
    for value in (float("nan"), 2**100, "\ud800", b"\xff", {1: 2}, object(), "a\nb", None, ""):
        log.info("odd", extra={"value": value})
    assert len(stream.getvalue().splitlines()) == 9


def test_a_traceback_is_part_of_its_line() -> None:
    stream = written("json")
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        log.exception("failed")
    (line,) = stream.getvalue().splitlines()
    assert "RuntimeError: broken" in json.loads(line)["traceback"]


def test_a_person_reads_words() -> None:
    stream = written("text")
    log.warning("slow\nrequest", extra={"route": "/v1/policy", "who": "a b"})
    assert stream.getvalue()[8:] == " WARNING slow\\nrequest route=/v1/policy who='a b'\n"


def test_the_level_decides_what_is_written() -> None:
    stream = written("json", level="warning")
    log.info("request")
    assert stream.getvalue() == ""


def test_uvicorn_logs_the_same_way_and_not_the_paths() -> None:
    stream = written("json")
    extra = {"color_message": "\x1b[1mStarted\x1b[0m"}
    logging.getLogger("uvicorn.error").info("Started", extra=extra)
    logging.getLogger("uvicorn.access").info('"GET /v1/users/ann" 200')
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "Started"
    assert "color_message" not in line


# what the service logs


def lines_of(stream: io.StringIO) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [line for line in lines if line["logger"].startswith("faircascade")]


def test_requests_are_logged_if_asked_for(service: Service) -> None:
    stream = written("json")
    with calling(app_of(service, access_log=True)) as client:
        client.get("/v1/items/a", headers={"X-Request-ID": "r-1"})
        client.get("/nothing")
    first, second = lines_of(stream)
    assert first.pop("ms") > 0
    assert {name: first[name] for name in ("event", "method", "route", "status", "request_id")} == {
        "event": "request",
        "method": "GET",
        "route": "/v1/items/{item}",
        "status": 200,
        "request_id": "r-1",
    }
    assert (second["route"], second["status"]) == ("unmatched", 404)


def test_requests_are_not_logged_otherwise(service: Service) -> None:
    stream = written("json")
    with calling(app_of(service)) as client:
        client.recommend()
        client.get("/nothing")
    assert lines_of(stream) == []


def test_slow_requests_are_logged_in_any_case(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = written("json")
    monkeypatch.setattr(middleware, "SLOW", 0.0)
    with calling(app_of(service)) as client:
        client.get("/v1/policy")
    (line,) = lines_of(stream)
    assert (line["event"], line["level"]) == ("slow request", "warning")


def test_no_line_has_a_key_a_body_or_a_user_in_it(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = written("json", level="debug")
    key = new_key(tmp_path / "keys", "mine", "write")
    headers = {"Authorization": f"Bearer {key}"}
    app = app_of(service, access_log=True, keys=Keys.load(tmp_path / "keys"))
    with calling(app) as client:
        client.post("/v1/recommendations", {"user": "whisper"}, headers=headers)
        client.post("/v1/recommendations", {"whisper": 1}, headers=headers)
        client.get("/v1/users/whisper", headers=headers)
        client.get("/whisper?whisper=whisper", headers=headers)
        client.get("/v1/users/whisper", headers={"Authorization": f"Bearer {key}x"})
        monkeypatch.setattr(service, "recommend", None)
        answer = client.post("/v1/recommendations", {"user": "whisper"}, headers=headers)
        assert answer.status_code == 500
    assert len(lines_of(stream)) > 5
    ours = json.dumps(lines_of(stream))
    assert key not in ours
    assert "whisper" not in ours
