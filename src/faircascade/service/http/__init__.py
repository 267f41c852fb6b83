"""The service's HTTP interface."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faircascade.service.http.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    """Import the application on first use: the schemas are also used without FastAPI."""
    if name != "create_app":
        raise AttributeError(f"module 'faircascade.service.http' has no attribute {name!r}")
    from faircascade.service.http.app import create_app

    return create_app
