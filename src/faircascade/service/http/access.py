"""Who asks, what they may do, and how much of it."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from starlette.types import Scope

from faircascade.service.http.callers import CALLER, Caller
from faircascade.service.http.connection_pool import peer_of, within
from faircascade.service.http.problems import document
from faircascade.service.http.rate_limits import ALLOWANCE, Allowance, RateLimits
from faircascade.service.keys import Key, Keys
from faircascade.service.settings import ServiceSettings

OPEN = frozenset({"/", "/docs", "/healthz", "/readyz", "/openapi.json"})
"""Paths that need no key and are not limited, besides those of `/static`."""
PERSONAL = "/v1/users/"
"""Paths that are about users: not for read-only keys."""
ADMINISTRATION = ("/v1/policies", "/v1/experiments", "/v1/kill-switch")
"""Paths that say what everybody is served: only keys of administrators change something there."""
READING = ("GET", "HEAD")


class NoAccess(Exception):  # noqa: N818 - it says what there is
    """A request may not be made; nothing was done."""

    def __init__(self, problem: dict[str, Any], headers: dict[str, str]) -> None:
        super().__init__(problem["detail"])
        self.problem = problem
        self.headers = headers


class Access:
    """Lets requests in, by key if there are keys."""

    def __init__(
        self, keys: Keys | None, settings: ServiceSettings, limits: RateLimits | None = None
    ) -> None:
        self._keys = keys
        self._rate = settings.rate_limit
        self._proxies = [ip_network(proxy, strict=False) for proxy in settings.proxies]
        self._limits = RateLimits() if limits is None else limits

    def check(self, scope: Scope, authorization: bytes) -> None:
        """Note in the scope who asks, and take a token; raise `NoAccess` if that may not be."""
        path: str = scope["path"]
        address = scope["client"][0] if scope.get("client") else ""
        scope[CALLER] = Caller(key=None, address=address)
        if path in OPEN or path.startswith("/static/"):
            return
        if self._keys is None:
            scope[CALLER] = Caller(key=None, address=address, administrator=True)
            if self._rate is not None and not within(address, self._proxies):
                self._begin(scope, f"address {peer_of(address)}", self._rate)
            return
        key = _key(self._keys, authorization.decode("latin-1"))
        administrator = key.role == "admin"
        scope[CALLER] = Caller(key=key.name, address=address, administrator=administrator)
        if refused := _refused(key.role, scope["method"], path):
            challenge = 'Bearer error="insufficient_scope"'
            raise NoAccess(document(403, refused), {"WWW-Authenticate": challenge})
        rate = self._rate if key.rate is None else key.rate
        if rate is not None:
            self._begin(scope, f"key {key.name}", rate)

    def _begin(self, scope: Scope, caller: str, rate: float) -> None:
        allowance = scope[ALLOWANCE] = Allowance(self._limits, caller, rate)
        allowance.begin()


def _key(keys: Keys, authorization: str) -> Key:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token:
        detail = "a key is required: Authorization: Bearer KEY"
        raise NoAccess(document(401, detail), {"WWW-Authenticate": "Bearer"})
    key = keys.key_of(token.strip())
    if key is None:
        challenge = 'Bearer error="invalid_token"'
        raise NoAccess(document(401, "the key is not known"), {"WWW-Authenticate": challenge})
    return key


def _refused(role: str, method: str, path: str) -> str:
    """Return why a key may not do something, or nothing."""
    reads = method in READING
    if role == "read" and (not reads or path.startswith(PERSONAL)):
        return "the key may only read, and not read users"
    if role != "admin" and not reads and path.startswith(ADMINISTRATION):
        return "the key may not change policies; make one with 'faircascade keys new --admin'"
    return ""
