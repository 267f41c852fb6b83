"""Requests that are wrong in many ways, made of right ones; the same seed makes the same ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any


@dataclass(frozen=True)
class Wrong:
    """A request whose framing is right, so that there is an answer to be had."""

    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes | None = None
    chunked: bool = False

    def on_the_wire(self) -> bytes:
        lines = [b"%b %b HTTP/1.1" % (self.method, self.target), b"Host: x"]
        lines += [b"%b: %b" % header for header in self.headers]
        body = self.body or b""
        if self.chunked:
            lines.append(b"Transfer-Encoding: chunked")
            chunks = [body[at : at + 100] for at in range(0, len(body), 100)]
            body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
            body += b"0\r\n\r\n"
        elif self.body is not None:
            lines.append(b"Content-Length: %d" % len(body))
        return b"\r\n".join([*lines, b"", body])


JSON = (b"Content-Type", b"application/json")
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 3, 10**4, 2**31, 2**63, 2**64, 10**30, 10**300, -(10**25)),
    *(0.0, -0.0, 1.5, 5e-324, 1e308, 1e4, -1e4, 10000.000001, 1e-300),
    *(
        "",
        " ",
        "a",
        "b",
        "0",
        "1",
        "é",
        "\u0000",
        "\n",
        "\ufeff",
        "\u202e",
        "a|b",
        "|",
        "||",
        "../..",
    ),
    *("x" * 256, "x" * 257, "x" * 20_000, "\U0010ffff" * 256, "'; DROP TABLE users; --", "%s%n"),
    *([], [[]], [None], ["a"], ["a", "a"], ["zz"], [1] * 300, {}, {"a": 1}, [{}], {"user": {}}),
    *([0.0] * 4, [1e4, -1e4, 1e4, 5e-324], [1e308] * 4, [1, 2, 3], [True] * 4, ["1"] * 4),
]
ODD_TOKENS = [
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", "0x10", "01", "+1", ".5", "1."),
    *('"\\ud800"', '"\\udfff\\ud800"', '"\\x"', "'a'", "undefined", "1" * 5000, "-" + "9" * 4400),
    *("[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "/* */ 1", '"a" "b"', ""),
]
TARGETS = [
    *(b"/", b"/docs", b"/static/base.css", b"/healthz", b"/readyz", b"/metrics", b"/openapi.json"),
    *(b"/v1/policy", b"/v1/items", b"/v1/exposure", b"/v1/exposure/items", b"/v1/exposure/history"),
    *(b"/v1/items/a", b"/v1/items/new", b"/v1/users/ann", b"/v1/users/bob"),
    *(b"/v1/recommendations", b"/v1/recommendations/batch", b"/v1/feedback", b"/v1/feedback/batch"),
]
ODD_PATHS = [
    *(b"", b"/", b"//", b"/..", b"/../..", b"/%2e%2e/%2e%2e", b"/%00", b"/%ff", b"/%", b"/%zz"),
    *(b"/%0a", b"/%0d%0aX-A:%20b", b"/a%2Fb", b"/%F0%9F%8E%B5", b";x=1", b"/" + b"a" * 5000),
    *(b"\\", b"/%5c", b"/{item}", b"/%ed%a0%80", b"?", b"/?"),
]
ODD_QUERIES = [
    *(
        b"?offset=-1",
        b"?limit=0",
        b"?limit=1001",
        b"?limit=1e3",
        b"?limit=%31",
        b"?limit=" + b"9" * 5000,
    ),
    *(b"?offset=999999999", b"?offset=1_0", b"?limit=\xc2\xb2", b"?limit=%C2%B2", b"?window=1y"),
    *(
        b"?window=",
        b"?window=1h&window=all",
        b"?order=best",
        b"?order=clicks&limit=1000",
        b"?%00=%00",
    ),
    *(
        b"?window=all",
        b"?window=7d&limit=3",
        b"?window[]=1h",
        b"?a=" + b"b" * 3000,
        b"?&&&===",
        b"?%ff=%fe",
    ),
]
ODD_HEADERS = [
    *(
        (b"Content-Type", kind)
        for kind in (b"", b"text/plain", b"application/json; charset=utf-16")
    ),
    *(
        (b"Content-Type", kind)
        for kind in (b"application/json;", b"a/b/c;;;", b"multipart/form-data")
    ),
    *(
        (b"Accept", kind)
        for kind in (b"text/html", b"*/*;q=0", b";;,,q=", b"application/*", b"\xff")
    ),
    *((b"X-Request-ID", text) for text in (b"a b", b"x" * 5000, b"\xff\xfe", b"{}", b"ok-1")),
    *(
        (b"Authorization", text)
        for text in (b"Bearer", b"Bearer \xff", b"Basic YTpi", b"bearer x y")
    ),
    *((b"If-None-Match", b'"x", *'), (b"Range", b"bytes=5-1"), (b"Content-Encoding", b"gzip")),
    *((b"Cookie", b"=;=;"), (b"Expect", b"100-continue"), (b"X-Long", b"y" * 70_000)),
    *((b"Upgrade", b"websocket"), (b"Forwarded", b"for=x"), (b"X-HTTP-Method-Override", b"DELETE")),
]
METHODS = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"TRACE", b"PURGE"]


class Mischief:
    """Makes requests wrong."""

    def __init__(self, seed: int, impressions: list[str]) -> None:
        self._random = Random(seed)
        self._impressions = impressions
        """Slates that can be answered, some of them."""

    def next(self) -> Wrong:
        """Return another request, wrong once or a few times (and now and then right)."""
        request = self._right()
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            request = self._pick(self._ways(request))(request)
        return request

    def _pick(self, things: Any) -> Any:
        return self._random.choice(things)

    def _ways(self, request: Wrong) -> list[Callable[[Wrong], Wrong]]:
        about_bodies = [self._value, self._value, self._value, self._token, self._bytes]
        return [
            *(about_bodies if request.body else []),
            *(self._target, self._query, self._header, self._method, self._no_body),
        ]

    # right requests

    def _right(self) -> Wrong:
        if self._random.random() < 0.25:
            return Wrong(b"GET", self._pick(TARGETS))
        method, target, document = self._pick(self._documents())
        return Wrong(method, target, (JSON,), json.dumps(document).encode())

    def _documents(self) -> list[tuple[bytes, bytes, Any]]:
        user, item = self._pick(["ann", "bob", "é", "x" * 256]), self._pick(["a", "b", "new"])
        ask = {"user": user, "k": 3, "candidates": ["a", "b", "c"], "exclude": ["b"]}
        answer = {"impression_id": self._pick(self._impressions), "clicked_position": 2, "shown": 3}
        body = {"features": [0.1, 0.2, 0.3, 0.4], "merit": 0.5, "group": "x|y", "supplier": "s"}
        return [
            (b"POST", b"/v1/recommendations", ask),
            (b"POST", b"/v1/recommendations/batch", {"requests": [ask, {"user": "bob"}]}),
            (b"POST", b"/v1/feedback", answer),
            (b"POST", b"/v1/feedback/batch", {"feedback": [answer, {"impression_id": "1-a"}]}),
            (b"POST", b"/v1/items", {"items": [{"item": item, **body}, {"item": "i", **body}]}),
            (b"PUT", b"/v1/items/" + item.encode(), body),
        ]

    # ways to be wrong

    def _value(self, request: Wrong) -> Wrong:
        """Put something odd into a document, or leave something out."""
        try:
            document = json.loads(request.body or b"")
        except (ValueError, RecursionError):
            return request
        places = list(_places(document))
        holder, key = self._pick(places) if places else (None, None)
        if holder is None:
            document = self._pick(ODD_VALUES)
        elif self._random.random() < 0.15:
            del holder[key]
        elif isinstance(holder, dict) and self._random.random() < 0.1:
            holder[self._pick(["", "x", "K", "k ", "\u0000", "z" * 3000])] = self._pick(ODD_VALUES)
        else:
            holder[key] = self._pick(ODD_VALUES)
        ascii_only = self._random.random() < 0.5
        return replace(
            request,
            body=json.dumps(document, ensure_ascii=ascii_only).encode(errors="surrogatepass"),
        )

    def _token(self, request: Wrong) -> Wrong:
        """Put something that is not JSON, or hardly, in place of a value."""
        text = (request.body or b"").decode(errors="replace")
        at = self._random.randrange(len(text) + 1)
        start, end = text.rfind(":", 0, at) + 1, text.find(",", at)
        token = self._pick(ODD_TOKENS)
        return replace(request, body=(text[:start] + token + text[end:]).encode())

    def _bytes(self, request: Wrong) -> Wrong:
        body = bytearray(request.body or b"{}")
        how = self._random.randrange(6)
        if how == 0:
            body = body[: self._random.randrange(len(body) + 1)]
        elif how == 1:
            for _ in range(self._random.randrange(1, 6)):
                body[self._random.randrange(len(body))] = self._random.randrange(256)
        elif how == 2:
            body = bytearray(body.decode(errors="replace").encode(self._pick(["utf-16", "utf-32"])))
        elif how == 3:
            body = bytearray(b"\xef\xbb\xbf") + body
        elif how == 4:
            body = bytearray(self._random.randbytes(self._random.randrange(1, 300)))
        else:
            body = body * 2
        return replace(request, body=bytes(body), chunked=self._random.random() < 0.3)

    def _target(self, request: Wrong) -> Wrong:
        path = request.target.partition(b"?")[0]
        return replace(request, target=(path + self._pick(ODD_PATHS)) or b"/")

    def _query(self, request: Wrong) -> Wrong:
        return replace(request, target=request.target + self._pick(ODD_QUERIES))

    def _header(self, request: Wrong) -> Wrong:
        name, value = self._pick(ODD_HEADERS)
        kept = [header for header in request.headers if header[0] != name]
        return replace(request, headers=(*kept, (name, value)))

    def _method(self, request: Wrong) -> Wrong:
        return replace(request, method=self._pick(METHODS))

    def _no_body(self, request: Wrong) -> Wrong:
        return replace(request, body=self._pick([None, b"", b"{}", b"null", b"[]", b"0", b'""']))


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return every place in a document, as (holder, key)."""
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        keys = list(range(min(len(document), 20)))
    found = [(document, key) for key in keys]
    return found + [place for key in keys for place in _places(document[key])]
