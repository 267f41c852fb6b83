"""Where the service is and how HTTPX speaks with it, for both clients."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from faircascade.client.retry import Attempt, Failure
from faircascade.client.trace_context import trace_headers
from faircascade.client.transport import Reply
from faircascade.installation import install_command

if TYPE_CHECKING:
    import httpx

CONNECTIONS = 100
"""At most so many at once; further calls wait for one to be free."""
IDLE_SECONDS = 4.0
"""How long to keep an idle connection.

Whoever opened a connection closes it first: a request that meets a server hanging up is lost, and
a recommendation is not sent twice. So the client keeps connections for less time than any server
does: uvicorn closes them after 5 s by default, nginx after 60 s, `faircascade serve` after 75 s.
"""


@dataclass(frozen=True)
class Connection:
    """An address, and the key to it."""

    url: str
    """Without a slash at the end."""
    key: str | None = field(default=None, repr=False)

    @classmethod
    def to(cls, url: str, key: str | None) -> Connection:
        """Check an address and a key; the key is $FAIRCASCADE_KEY by default."""
        key = key if key is not None else os.environ.get("FAIRCASCADE_KEY")
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("key must consist of printable ASCII characters without spaces")
        parts = urlsplit(url)
        if "@" in parts.netloc:  # not shown: it may hold a password
            raise ValueError("url must not hold a user name or a password; give the key as key=...")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be such as http://127.0.0.1:8000, got {url!r}")
        if parts.query or parts.fragment:
            raise ValueError(f"url must end with the host, the port or a path, got {url!r}")
        return cls(url.rstrip("/"), key or None)

    def options(self) -> dict[str, Any]:
        """Return how to make a client of HTTPX."""
        import httpx

        headers = {"User-Agent": "faircascade", "Accept": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        limits = httpx.Limits(
            max_connections=CONNECTIONS,
            max_keepalive_connections=CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
        )
        return {"headers": headers, "limits": limits}

    def request(self, attempt: Attempt) -> dict[str, Any]:
        """Return the request that an attempt sends."""
        request = attempt.request
        headers = {"X-Request-ID": attempt.request_id, **trace_headers()}
        if request.content is not None:
            headers["Content-Type"] = "application/json"
        return {
            "method": request.method,
            "url": self.url + request.path,
            "params": request.params or None,
            "content": request.content,
            "headers": headers,
            "timeout": attempt.timeout,
        }

    def reply(self, attempt: Attempt, response: httpx.Response, content: bytes) -> Reply:
        """Return what came back."""
        return Reply(
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            content=content,
            sent_as=attempt.request_id,
        )

    def too_late(self, attempt: Attempt) -> Failure:
        """Return the failure of an answer that does not come to an end."""
        return Failure(what=f"{self.url} answered too slowly", unsent=False)

    def failure(self, attempt: Attempt, error: httpx.RequestError) -> Failure:
        """Return what an error of HTTPX means."""
        import httpx

        within = f"within {attempt.timeout:.3g} s"
        unsent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        if isinstance(error, httpx.PoolTimeout):
            what = f"none of the client's {CONNECTIONS} connections was free {within}"
        elif isinstance(error, httpx.ConnectTimeout):
            what = f"could not connect to {self.url} {within}; check that the service is running"
        elif isinstance(error, httpx.ConnectError):
            what = f"could not connect to {self.url} ({error}); check that the service is running"
        elif isinstance(error, httpx.TimeoutException):
            what = f"no answer from {self.url} {within}"
        else:
            what = f"the connection to {self.url} broke ({error!r})"
        return Failure(what=what, unsent=unsent, cause=error)


def require_httpx() -> None:
    """Say what to do if HTTPX is missing: it is an extra, so it is imported only when needed."""
    try:
        import httpx  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(f"the client needs HTTPX: {install_command('client')}") from None
