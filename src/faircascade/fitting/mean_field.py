"""Sequential models fitted to aggregated counts, approximately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.fitting.click_table import Cells, totals
from faircascade.fitting.em import Optimum
from faircascade.fitting.mean_field_models import MeanField, Passing
from faircascade.fitting.priors import Priors
from faircascade.numerics import one_blas_thread
from faircascade.types import Floats, Ints

_EDGE = 1e-9
"""Parameters stay as far from 0 and 1."""
LEAST = 1e-300


class CountFit(NamedTuple):
    """A click model, attraction of entries, and the click probability of each cell."""

    model: ClickModel
    attraction: Floats
    predicted: Callable[[Cells], Floats]
    optimum: Optimum
    errors: dict[str, Any]


class CountData(NamedTuple):
    """Cells, and the context of each entry."""

    cells: Cells
    contexts: Ints
    entries: int
    k: int

    @property
    def groups(self) -> Ints:
        """Context and position of each cell as one number."""
        return self.contexts[self.cells.entries] * self.k + self.cells.places

    def means(self) -> Any:
        """Return the matrix that takes values of entries to means by context and position."""
        from scipy.sparse import csr_matrix

        size, cells = (int(self.contexts.max()) + 1) * self.k, self.cells
        shown = np.bincount(self.groups, cells.impressions, minlength=size)
        weight = cells.impressions / np.maximum(shown[self.groups], 1.0)
        return csr_matrix((weight, (self.groups, cells.entries)), (size, self.entries))


def fit_mean_field(
    field: MeanField, data: CountData, priors: Priors, *, iterations: int, tolerance: float
) -> CountFit:
    """Maximise the mean-field likelihood, over the logits of all parameters (L-BFGS)."""
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    cells, m = data.cells, data.entries
    clicks = cells.of_entries(cells.clicks, m)
    shown = cells.of_entries(cells.impressions, m)
    w = np.clip(priors.attraction.estimate(clicks, shown), 1e-4, 0.9)
    start = np.concatenate([w, field.start(data.k)])
    likelihood = MeanFieldLikelihood(field, data, priors)
    history: list[float] = []
    information = np.concatenate([shown * w * (1.0 - w), np.full(len(start) - m, clicks.sum())])
    scale = 1.0 / np.sqrt(1.0 + information)  # so that all directions are about equally steep

    def loss(z: Floats) -> tuple[float, Floats]:
        theta = np.clip(expit(scale * z), _EDGE, 1.0 - _EDGE)
        value, gradient = likelihood(theta)
        return -value, -gradient * theta * (1.0 - theta) * scale

    with one_blas_thread():  # vectors are short, and threads only wait for each other
        found = minimize(
            loss, logit(start) / scale, jac=True, method="L-BFGS-B",
            callback=lambda intermediate_result: history.append(-intermediate_result.fun),
            options={
                "maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20, "gtol": 0.0,
                "ftol": 0.1 * tolerance / max(abs(loss(logit(start) / scale)[0]), 1.0),
            },
        )  # fmt: skip
    theta = np.clip(expit(scale * found.x), _EDGE, 1.0 - _EDGE)
    looks = likelihood.examination(theta)

    def predicted(some: Cells) -> Floats:
        groups = data.contexts[some.entries] * data.k + some.places
        return np.asarray(theta[some.entries] * looks.reshape(-1)[groups])

    optimum = Optimum(theta, history, int(found.nfev), bool(found.success))
    return CountFit(field.model(theta[m:]), theta[:m], predicted, optimum, {})


class MeanFieldLikelihood:
    """Log-likelihood of counts, with the prior, and its gradient."""

    def __init__(self, field: MeanField, data: CountData, priors: Priors) -> None:
        self.field, self.data, self.priors = field, data, priors
        self.means, self.groups = data.means(), data.groups

    def examination(self, theta: Floats) -> Floats:
        """Return how likely users look at positions of contexts, (c, K)."""
        chance = self._passing(theta).chance
        looks = np.ones_like(chance)
        looks[:, 1:] = np.cumprod(chance[:, :-1], axis=1)
        return np.asarray(looks)

    def _passing(self, theta: Floats) -> Passing:
        w, phi = theta[: self.data.entries], theta[self.data.entries :]
        mean, square = (self.means @ values for values in (w, w * w))
        k = self.data.k
        return self.field.passing(phi, mean.reshape(-1, k), square.reshape(-1, k))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value and its derivatives by attraction and the other parameters."""
        cells, m = self.data.cells, self.data.entries
        w, passing = theta[:m], self._passing(theta)
        looks = np.ones_like(passing.chance)
        looks[:, 1:] = np.cumprod(passing.chance[:, :-1], axis=1)
        here, seen = w[cells.entries], looks.reshape(-1)[self.groups]
        p = np.clip(here * seen, LEAST, 1.0 - 1e-15)
        unclicked = cells.impressions - cells.clicks
        value = float(np.sum(cells.clicks * np.log(p) + unclicked * np.log1p(-p)))
        slope = cells.clicks - unclicked * p / (1.0 - p)  # by log p
        of_looks = totals(self.groups, slope, looks.size).reshape(looks.shape)
        below = np.zeros_like(looks)  # by log of the chance of going past a position
        below[:, :-1] = np.cumsum(of_looks[:, :0:-1], axis=1)[:, ::-1]
        by_chance = below / np.maximum(passing.chance, LEAST)
        gradient = cells.of_entries(slope / here, m)
        gradient += self.means.T @ (by_chance * passing.by_mean).reshape(-1)
        gradient += 2.0 * w * (self.means.T @ (by_chance * passing.by_square).reshape(-1))
        others = (passing.by_parameter * by_chance).sum(axis=(1, 2))
        for prior, part, slopes in (
            (self.priors.attraction, w, gradient),
            (self.priors.others, theta[m:], others),
        ):
            value += prior.log_density(part)
            slopes += prior.successes / part - prior.failures / (1.0 - part)
        return value, np.concatenate([gradient, others])
