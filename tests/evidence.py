"""Evidence and feedback for tests, from positions seen or clicked."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.environment import Environment
from faircascade.estimators import Evidence
from faircascade.types import Feedback


def evidence(features: Any, targets: Any, last: Any) -> Evidence:
    """Slates of features (n, K, d) of which positions up to the last (n,) were seen."""
    n, k, _ = features.shape
    seen = (np.arange(k) < np.asarray(last)[:, None]).astype(float)
    return Evidence(
        items=np.zeros((n, k), dtype=np.int64),
        features=features,
        clicks=np.zeros((n, k), dtype=bool),
        seen=seen,
        targets=np.asarray(targets) * seen,
        topics=np.zeros((n, k, 0)),
        factors=seen,
    )


def feedback_on(env: Environment, slates: Any, clicks: Any) -> Feedback:
    """What users did with slates of an environment, all of which they were shown."""
    return Feedback.of(env.items, np.asarray(slates), np.asarray(clicks, dtype=bool))
