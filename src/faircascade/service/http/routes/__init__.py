"""The operations, by subject."""

from faircascade.service.http.routes import (
    catalogue,
    experiments,
    exposure,
    feedback,
    operation,
    pages,
    policies,
    recommendations,
    users,
)

ROUTERS = (
    recommendations.router,  # routes are tried in this order: those with the most work first
    feedback.router,
    catalogue.router,
    users.router,
    exposure.router,
    policies.router,
    experiments.router,
    operation.router,
    pages.router,
)
