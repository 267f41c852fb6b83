"""The operations, by subject."""

from faircascade.service.http.routes import (
    catalogue,
    exposure,
    feedback,
    monitoring,
    operation,
    pages,
    recommendations,
    users,
)

ROUTERS = (
    recommendations.router,  # routes are tried in this order: those with the most work first
    feedback.router,
    catalogue.router,
    users.router,
    exposure.router,
    monitoring.router,
    operation.router,
    pages.router,
)
