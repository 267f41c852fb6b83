"""The dashboard, the API reference, and their files."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parents[1] / "static"
HEADERS = {
    "Cache-Control": "no-cache",  # ask whether it is still the same
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_STYLED = "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:"
"""What Scalar, which draws the API reference, needs besides: it writes its styles into the page."""
_TYPES = {".js": "text/javascript", ".svg": "image/svg+xml"}
"""Some systems have their own ideas about these."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it is served."""

    body: bytes
    kind: str
    etag: str


@cache
def files() -> dict[str, Page]:
    """Return all files by name; what is not among them cannot be asked for."""
    return {path.name: _page(path) for path in FOLDER.iterdir() if path.is_file()}


def _page(path: Path) -> Page:
    body = path.read_bytes()
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return Page(body, kind, f'"{hashlib.sha256(body).hexdigest()[:16]}"')


@router.get("/")
async def dashboard(request: Request) -> Response:
    """Serve the dashboard."""
    return serve(request, "dashboard.html")


@router.get("/docs")
async def reference(request: Request) -> Response:
    """Serve the API reference."""
    response = serve(request, "reference.html")
    response.headers["Content-Security-Policy"] += _STYLED
    return response


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """Serve what pages are made of."""
    return serve(request, name)


def serve(request: Request, name: str) -> Response:
    """Return a file, or 304 if the browser has it."""
    page = files().get(name)
    if page is None:
        raise HTTPException(404)
    headers = {**HEADERS, "ETag": page.etag}
    if page.etag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    return Response(page.body, 200, headers, page.kind)
