"""A client of the service, in threads or in an event loop."""

from faircascade.client.clients import AsyncClient, Client
from faircascade.client.documents import Answer, Ask, Changed, Impression, Item, Readiness, Receipt
from faircascade.client.errors import FieldError, ServiceError, ServiceUnavailable

__all__ = [
    "Answer",
    "Ask",
    "AsyncClient",
    "Changed",
    "Client",
    "FieldError",
    "Impression",
    "Item",
    "Readiness",
    "Receipt",
    "ServiceError",
    "ServiceUnavailable",
]
