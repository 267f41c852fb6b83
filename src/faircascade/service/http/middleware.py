"""The middleware: request ids, hosts, keys, sizes, overload, metrics and logs."""

from __future__ import annotations

import logging
import re
from collections import Counter
from itertools import count
from secrets import randbits
from time import perf_counter
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from faircascade.service.audit_log import NotAudited
from faircascade.service.http import problems
from faircascade.service.http.access import Access, NoAccess
from faircascade.service.http.admission import TICKET, Admission
from faircascade.service.http.audit import Auditor
from faircascade.service.http.bodies import Bodies, Body
from faircascade.service.http.callers import CALLER
from faircascade.service.http.hosts import is_here
from faircascade.service.http.json_route import accepts_json
from faircascade.service.http.metrics import Metrics
from faircascade.service.http.problems import detail_of
from faircascade.service.http.rate_limits import TooFast
from faircascade.service.http.validation_errors import MOST_ERRORS, FieldErrors, field_error, short

log = logging.getLogger(__name__)

SLOW_SECONDS = 1.0
"""Seconds from which on a request is logged in any case."""
LARGEST_HEAD = 64 * 1024
"""Bytes of all header fields together."""
LONGEST_HOST = 261
"""Characters of a name and a port."""
CLIENT_CLOSED = 499
"""Status of a request whose client did not wait for the answer; only counted."""
API = "/v1/"
PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that may be requested under any host name."""
UNMATCHED = "unmatched"
"""Route of unknown paths in metrics: one label for all, so that labels cannot pile up."""

_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_NUMBERS = count(randbits(63))
"""Of requests without an id: no secrets, only different here and from those of other processes."""


class RequestMiddleware:
    """Gives a request its id, checks its host, key and size, and counts, times and logs it.

    All in one plain ASGI application: each of Starlette's own middleware layers would take as long
    as everything else.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        access: Access,
        auditor: Auditor,
        bodies: Bodies,
        admission: Admission,
        access_log: bool,
        host: str | None,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._access = access
        self._auditor = auditor
        self._bodies = bodies
        self._admission = admission
        self._access_log = access_log
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        headers = dict(scope["headers"])
        request_id = id_of(headers.get(b"x-request-id", b""))
        name = request_id.decode()
        method = scope["method"]
        inner = {**scope, problems.REQUEST_ID: name}
        if method == "HEAD":  # whatever can be read has a head
            inner["method"] = "GET"
        status, audited = 0, False
        limit, ticket = self._admission.limit_of(scope), scope.get(TICKET)
        if limit is not None and ticket is None:
            ticket = inner[TICKET] = limit.ticket()

        async def answer(message: Message) -> None:
            nonlocal status, audited
            if message["type"] == "http.response.start":
                if not audited:
                    audited = True
                    await self._auditor.note(inner, message["status"])
                if ticket is not None:  # from now on it is up to the client how long it takes
                    ticket.leave(answered=True)
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *own_headers(request_id)]}
            elif method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        if limit is not None and ticket is None:
            self._metrics.shed(limit.path)
            await problems.too_many_requests(name)(inner, receive, answer)
            return
        body = Body(self._bodies, receive)
        try:
            refusal = self._refusal(inner, headers, name) or await self._unaudited(inner, name)
            if refusal is None:
                await self._app(inner, body.receive, answer)
            else:
                await refusal(inner, receive, answer)
        except ClientDisconnect:
            status = CLIENT_CLOSED
        except NotAudited:
            detail = "the audit log cannot be written; the change may have been made"
            await problems.answer(name, problems.document(500, detail))(inner, receive, answer)
        except Exception:
            log.exception("request failed", extra={"request_id": name, "route": _route(inner)})
            if status:
                raise  # the server must not take the answer for a whole one
            problem = problems.document(500, f"internal error; see request {name} in the log")
            await problems.answer(name, problem)(inner, receive, answer)
        finally:
            body.release()
            if ticket is not None:
                ticket.leave(answered=False)
        self._account(inner, method, status, perf_counter() - began)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes], name: str) -> Response | None:
        """Return the answer to a request that is refused before routing."""
        if sum(len(key) + len(value) for key, value in scope["headers"]) > LARGEST_HEAD:
            return problems.answer(name, problems.document(431, head_too_large()))
        repeated = len(headers) < len(scope["headers"])
        if repeated and (hosts := sum(key == b"host" for key, _ in scope["headers"])) > 1:
            detail = f"Host must be given once, got {hosts}"
            return problems.answer(name, problems.document(400, detail), {"Connection": "close"})
        path: str = scope["path"]
        if self._host is not None and path not in PROBES:
            host = headers.get(b"host", b"").decode("latin-1")
            if len(host) > LONGEST_HOST or not is_here(host, self._host):
                return problems.answer(name, problems.document(421, misdirected(host)))
        if "\ufffd" in path and not _is_text(scope.get("raw_path") or b""):
            errors = [field_error("path", "must be UTF-8, percent-encoded")]
            return problems.answer(name, problems.document(422, detail_of(errors), errors))
        try:
            self._access.check(scope, headers.get(b"authorization", b""))
        except NoAccess as refused:
            return problems.answer(name, refused.problem, refused.headers)
        except TooFast as error:
            self._metrics.rate_limited(scope[CALLER].key)
            return problems.answer(name, *problems.too_fast(error))
        if _announced(headers) > self._bodies.largest:
            # Who waits to be told to go on may now send another request instead, or the body.
            closing = {"Connection": "close"} if b"expect" in headers else None
            problem = problems.document(413, self._bodies.too_large())
            return problems.answer(name, problem, closing)
        if path.startswith(API) and (errors := repeated_parameters(scope["query_string"])):
            return problems.answer(name, problems.document(422, detail_of(errors), errors))
        if path.startswith(API) and not accepts_json(headers.get(b"accept", b"").decode("latin-1")):
            detail = "answers are application/json, which Accept excludes"
            return problems.answer(name, problems.document(406, detail))
        return None

    async def _unaudited(self, scope: Scope, name: str) -> Response | None:
        """Return the answer to a change that could not be noted."""
        if self._auditor.is_change(scope):
            try:
                await self._auditor.log.check()
            except NotAudited:
                detail = "the audit log cannot be written; nothing was changed"
                return problems.answer(name, problems.document(503, detail), problems.RETRY_AFTER)
        return None

    def _account(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.request(route, method, status, seconds)
        slow, failed = seconds > SLOW_SECONDS, status >= 500
        if not (slow or failed or self._access_log):
            return
        fields = {
            "method": method[:20],
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "request_id": scope[problems.REQUEST_ID],
        }
        if slow or failed:
            log.warning("slow request" if slow else "failed request", extra=fields)
        else:
            log.info("request", extra=fields)


def id_of(given: bytes) -> bytes:
    """Return the id of a request: the one that was given, or a new one."""
    return given if _SANE_ID.fullmatch(given) else b"%016x" % next(_NUMBERS)


def own_headers(request_id: bytes) -> list[tuple[bytes, bytes]]:
    """Return the header fields of every answer."""
    return [(b"x-request-id", request_id), (b"x-content-type-options", b"nosniff")]


def _announced(headers: dict[bytes, bytes]) -> int:
    """Return the announced size of the body, 0 if unknown."""
    size = headers.get(b"content-length", b"")
    return int(size[:20]) if size.isdigit() else 0


def head_too_large() -> str:
    """Return the error message for header fields beyond the limit."""
    return f"all header fields must have at most {LARGEST_HEAD:,} bytes together"


def misdirected(host: str) -> str:
    """Return the error message for a Host that is not this machine."""
    return (
        f"Host must be localhost or an address of the loopback, got {short(host)!r}: without keys "
        "this service is for this machine; start it with --keys, or let the proxy set Host"
    )


def repeated_parameters(query: bytes) -> FieldErrors:
    """Return an error for each query parameter that is given more than once.

    >>> repeated_parameters(b"offset=0&limit=5&offset=9")
    [{'field': 'query.offset', 'message': 'must be given once, got 2'}]
    """
    if b"&" not in query:
        return []
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    counts = Counter(parameter for parameter, _ in given)
    return [
        field_error(f"query.{short(parameter)}", f"must be given once, got {count}")
        for parameter, count in counts.items()
        if count > 1
    ][:MOST_ERRORS]


def _is_text(raw_path: bytes) -> bool:
    """Return False if the path is not UTF-8."""
    try:
        unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return False
    return True


def _route(scope: Scope) -> str:
    """Return the template of a path, which names no item and no user."""
    return getattr(scope.get("route"), "path_format", UNMATCHED)
