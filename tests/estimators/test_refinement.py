"""How often an inverse is refined."""

from __future__ import annotations

import numpy as np

from faircascade.estimators.refinement import next_interval


def test_a_refinement_comes_sooner_where_the_last_found_a_large_residual() -> None:
    every, residual = (
        np.array([256, 256, 128, 128, 4, 1]),
        2.0 ** np.array([-28, -27, -29, -40, -31, -20]),
    )
    assert next_interval(every, residual).tolist() == [256, 32, 64, 128, 4, 1]
    assert next_interval(np.array([4]), np.array([2.0**-34])).tolist() == [8]
