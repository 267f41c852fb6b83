"""Where a client calls, with which key, and from several places at once."""

from __future__ import annotations

import asyncio
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from faircascade.client import AsyncClient, Client, Impression, ServiceError
from faircascade.installation import install_command
from faircascade.service.http import schemas
from tests.client.examples import IMPRESSION, example
from tests.client.server import Server, refuses, says

KEY = "s3cret-key"
SHOWN = says(example(schemas.Recommendation))


def test_a_redirection_is_not_followed_with_the_key(server: Server, connect: Any) -> None:
    server.will(says(None, 307, Location="https://elsewhere.example/v1/policy"))
    with pytest.raises(ServiceError, match=r"redirected to https://elsewhere\.example"):
        connect(server.url, key=KEY).policy()


def test_the_key_is_sent_and_shown_nowhere(
    server: Server, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRCASCADE_KEY", "of-the-environment")
    server.will(says({}), says({}), refuses(401, "Unauthorized", "the key is wrong"))
    connect(server.url).policy()
    client = connect(server.url, key=KEY)
    client.policy()
    with pytest.raises(ServiceError, match="the key is wrong; the client takes") as caught:
        client.policy()
    sent = [seen.headers["authorization"] for seen in server.seen]
    assert sent == ["Bearer of-the-environment", f"Bearer {KEY}", f"Bearer {KEY}"]
    for shown in (repr(client), repr(caught.value), str(caught.value), repr(caught.value.__dict__)):
        assert KEY not in shown


def test_no_key_sends_none(server: Server, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRCASCADE_KEY", "of-the-environment")
    server.will(says({}))
    connect(server.url, key="").policy()
    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("cls", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("127.0.0.1:8000", {}, r"url must be such as http://127.0.0.1:8000, got '127.0.0.1:8000'"),
        ("ftp://x", {}, "url must be such as"),
        ("http://x/?a=1", {}, "url must end with the host, the port or a path"),
        ("http://me:s3cret-key@x", {}, "must not hold a user name or a password"),
        ("http://x", {"key": "s3cret-key\n"}, "key must consist of printable ASCII"),
        ("http://x", {"key": "s3cret-keyü"}, "key must consist of printable ASCII"),
        ("http://x", {"timeout": 0}, "timeout must be seconds > 0, got 0"),
        ("http://x", {"deadline": float("nan")}, "deadline must be seconds > 0, got nan"),
        ("http://x", {"retries": -1}, "retries must be at least 0, got -1"),
    ],
)
def test_settings_are_checked_without_telling_the_key(
    cls: Any, url: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        cls(url, **options)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("cls", [Client, AsyncClient])
def test_without_httpx_it_says_what_to_install(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ValueError, match=re.escape(install_command("client"))):
        cls("http://127.0.0.1:8000")


def test_an_event_loop_has_many_calls_under_way(server: Server) -> None:
    async def recommend_at_once() -> list[Impression]:
        async with AsyncClient(server.url) as client:
            assert repr(client) == f"AsyncClient({server.url!r})"
            return await asyncio.gather(*(client.recommend(f"u{n}") for n in range(40)))

    server.will(*[SHOWN] * 40)
    assert asyncio.run(recommend_at_once()) == [IMPRESSION] * 40


def test_threads_share_a_client(server: Server) -> None:
    server.will(*[SHOWN] * 40)
    with Client(server.url) as client, ThreadPoolExecutor(8) as threads:
        lists = list(threads.map(lambda n: client.recommend(f"u{n}"), range(40)))
    assert lists == [IMPRESSION] * 40
    assert {seen.body["user"] for seen in server.seen} == {f"u{n}" for n in range(40)}
