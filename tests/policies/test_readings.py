"""What the readings do, shown by paired runs: facts that the docs state."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.experiment import Comparison, compare
from faircascade.policies import EALinUCB, LinUCB


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    data = load_dataset("synthetic", users=200, items=500)
    seeds = [1, 2, 3, 4]
    environments = {
        seed: Environment.from_ratings(data, seed=seed, world="paper").take(slice(None, None, 4))
        for seed in seeds
    }
    policies = [
        LinUCB(),
        EALinUCB(weight="rbp", reading="paper"),
        EALinUCB(weight="rbp", reading="intended"),
    ]
    return compare(environments.__getitem__, policies, rounds=500, seeds=seeds, checkpoints=[500])


@pytest.mark.parametrize("metric", ["equality_b", "equality_p"])
@pytest.mark.parametrize(
    ("label", "sign"),
    [
        ("EALinUCB rbp (reading=paper)", -1),
        ("EALinUCB rbp (reading=intended)", +1),
    ],
)
def test_literal_rbp_lowers_fairness_and_intended_rbp_raises_it(
    comparison: Comparison, metric: str, label: str, sign: int
) -> None:
    # the 99% interval of the paired difference over four seeds lies on one side of 0:
    # Student's t with three degrees of freedom, 5.84 standard errors
    gain = sign * (comparison.values(label, metric) - comparison.values("LinUCB", metric))
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    assert gain.mean() - 5.84 * error > 0
