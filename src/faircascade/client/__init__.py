"""A client of the service, in threads or in an event loop."""

from faircascade.client.clients import AsyncClient, Client
from faircascade.client.errors import FieldError, ServiceError, ServiceUnavailable
from faircascade.client.models import (
    CatalogueChange,
    Feedback,
    Impression,
    Item,
    Readiness,
    Receipt,
    RecommendationRequest,
)

__all__ = [
    "AsyncClient",
    "CatalogueChange",
    "Client",
    "Feedback",
    "FieldError",
    "Impression",
    "Item",
    "Readiness",
    "Receipt",
    "RecommendationRequest",
    "ServiceError",
    "ServiceUnavailable",
]
