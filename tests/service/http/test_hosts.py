"""Under which names a service without keys is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from faircascade.service.http.hosts import is_here
from tests.service.http.applications import app_of, calling, new_service

HERE = [
    "localhost", "LocalHost:8000", "localhost.", "shop.localhost:80", "127.0.0.1", "127.9.8.7:1",
    "[::1]", "[::1]:8000",
]  # fmt: skip
ELSEWHERE = [
    "", ":8000", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io",
    "notlocalhost", "10.0.0.1", "0.0.0.0", "[::]", "127.1", "2130706433", "\u00e9",
]  # fmt: skip


@pytest.mark.parametrize("host", HERE)
def test_the_loopback_is_here_however_it_is_named(host: str) -> None:
    assert is_here(host, "")


@pytest.mark.parametrize("host", ELSEWHERE)
def test_everything_else_is_elsewhere(host: str) -> None:
    assert not is_here(host, "127.0.0.1")


def test_the_host_that_was_given_is_here() -> None:
    assert is_here("My-Laptop:8000", "my-laptop")
    assert is_here("[fe80::1]:8000", "fe80::1")
    assert not is_here("my-laptop.example", "my-laptop")


def test_a_page_under_another_name_cannot_read_a_service_without_keys(tmp_path: Path) -> None:
    with calling(app_of(new_service(tmp_path), host="127.0.0.1")) as client:
        for path in ("/v1/policy", "/", "/metrics", "/openapi.json", "/static/base.css"):
            answer = client.get(path, headers={"Host": "evil.example:8000"})
            assert answer.status_code == 421
            assert client.get(path, headers={"Host": "127.0.0.1:8000"}).status_code == 200
        assert answer.json()["detail"] == (
            "Host must be localhost or an address of the loopback, got 'evil.example:8000': "
            "without keys this service is for this machine; start it with --keys, or let the proxy "
            "set Host"
        )
        for length in range(40, 300):
            host = "x" * length + ".localhost.evil.example"
            assert client.get("/v1/policy", headers={"Host": host}).status_code == 421
        for path in ("/healthz", "/readyz"):
            assert client.get(path, headers={"Host": "evil.example"}).status_code == 200


@pytest.mark.parametrize("names", [("localhost", "evil.example"), ("localhost", "localhost")])
@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_a_request_names_one_host(tmp_path: Path, names: tuple[str, ...], host: str | None) -> None:
    with calling(app_of(new_service(tmp_path), host=host)) as client:
        for path in ("/v1/policy", "/healthz", "/"):
            answer = client.get(path, headers=[("Host", name) for name in names])
            assert answer.status_code == 400
            assert answer.json()["detail"] == "Host must be given once, got 2"


def test_other_programs_decide_for_themselves(tmp_path: Path) -> None:
    with calling(app_of(new_service(tmp_path))) as client:
        assert client.get("/v1/policy", headers={"Host": "evil.example"}).status_code == 200
