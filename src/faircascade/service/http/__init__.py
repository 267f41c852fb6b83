"""The service's HTTP interface."""

from faircascade.service.http.app import create_app

__all__ = ["create_app"]
