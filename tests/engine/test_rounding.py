"""Where the last bits decide: problems in which rounding alone lifts an item into the slate.

Each begins in a state made by hand, 255 updates before the next refinement unless told otherwise.
Preferences are 0, so that nobody clicks, everything shown is learned, and B does not move.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faircascade.engine import loop
from faircascade.engine.cpu import run as cpu
from faircascade.engine.gpu import run as gpu
from faircascade.engine.job import Job, Outcome
from faircascade.engine.snapshot import Snapshot
from faircascade.environment import Environment
from faircascade.estimators import Ridge
from faircascade.estimators.refinement import REFINE_EVERY
from faircascade.estimators.ridge import RidgeState
from faircascade.exploration import UCB
from faircascade.policies import Bandit, BanditState
from tests.engine.emulated import Emulated, compiler
from tests.engine.same import bits

K = 10
ENGINES = {
    "loop": loop.run,
    "cpu": cpu.run,
    "gpu": lambda job: gpu.run_together([job], Emulated())[0],
}
fast = pytest.mark.parametrize(
    "engine",
    [
        "cpu",
        pytest.param("gpu", marks=pytest.mark.skipif(not compiler(), reason="no C++ compiler")),
    ],
)


def go_on(engine: str, job: dict, state: RidgeState, folder: Path) -> Outcome:
    """Run an engine from a state that users are in after round 1."""
    path = folder / f"{engine}.npz"
    under = Job(**job, checkpoints=(200,), seed=3, threads=1, snapshot=path)
    snapshot = Snapshot(under)
    users = BanditState(users=under.env.users, learned=state)
    snapshot.save(1, snapshot.reached().tally, users)
    return ENGINES[engine](under)


def state_of(
    M_inv: np.ndarray, B: np.ndarray, theta: np.ndarray, M: np.ndarray, done: int = 0
) -> RidgeState:
    """Return the state of one user, `done` updates after a refinement."""
    return RidgeState(
        M=M[:, :, None],
        M_inv=M_inv[:, :, None],
        B=B[:, None],
        theta=theta[:, None],
        updates=np.array([4 * REFINE_EVERY + done]),
        interval=np.array([REFINE_EVERY]),
    )


def assert_same(engine: str, job: dict, state: RidgeState, folder: Path) -> Outcome:
    expected = go_on("loop", job, state, folder)
    found = go_on(engine, job, state, folder)
    assert bits(vars(expected.tally)) == bits(vars(found.tally))
    assert bits(vars(expected.state.learned)) == bits(vars(found.state.learned))
    return found


@fast
def test_a_width_that_rounding_lets_grow_update_by_update(engine: str, tmp_path: Path) -> None:
    # M^-1 = w w^T, so that every update subtracts c w w^T. c is such that the diagonal, just above
    # a power of two, stays as it is, while the entry beside it falls by a unit in the last place:
    # the square of the last item's width grows from 0 by 3e-16 an update, to 6e-13. What scoring
    # alone is allowed, 4 (d + 2)^2 u |M^-1|, is 2e-14.
    a, c = 1.01, 2.02
    b = np.sqrt(a * c)
    w = np.sqrt([a, c])
    shown = np.outer(1 - 1e-3 * np.arange(K), w / (w @ w))  # w . z = 1, 0.999, ...: their scores
    others = np.outer(0.05 + 1e-3 * np.arange(50), w / (w @ w))
    rising = 1.6e6 * np.array([[1.0, -a / b]])
    env = Environment.from_arrays(
        np.concatenate([shown, others, rising]), np.zeros((1, 2)), k=K, merit=np.ones(K + 51)
    )
    policy = Bandit(estimator=Ridge(sigma=(0.8 * 2.0**-53) ** -0.5), exploration=UCB(alpha=1.0))
    state = state_of(np.array([[a, b], [b, c]]), np.zeros(2), np.zeros(2), np.eye(2))
    found = assert_same(engine, {"env": env, "policy": policy}, state, tmp_path)
    appearances = found.tally.appearances[0].sum(axis=1)
    assert appearances[:K].sum() > 100 * K  # the slate was another one for long
    assert appearances[-1] > 10  # and then rounding had lifted the last item into it


@fast
def test_a_mean_that_rounding_lifts_by_more_than_theta_moved(engine: str, tmp_path: Path) -> None:
    # The scores of all are 2^30 and half a unit in the last place, 2^-23: a little more for those
    # in the first slate, and for the others a little less, until theta moves by 2^-62.
    half = 2.0**-13 * np.array([1 + 2.0**-30] * K + [1 + 2.0**-52] * 50)
    env = Environment.from_arrays(
        np.stack([np.full(K + 50, 2.0**30), half], axis=1), np.zeros((1, 2)), k=K
    )
    policy = Bandit(estimator=Ridge(sigma=2.0**66), exploration=UCB(alpha=0.0))
    theta = np.array([1.0, 2.0**-10])
    state = state_of(np.eye(2), theta * 2.0**132, theta * [1, 1 - 2.0**-52], np.eye(2))
    found = assert_same(engine, {"env": env, "policy": policy}, state, tmp_path)
    appearances = found.tally.appearances[0].sum(axis=1)
    assert (appearances > 0).all()  # all are level from then on


@fast
def test_a_width_that_a_refinement_sets_right(engine: str, tmp_path: Path) -> None:
    # M^-1 lacks what it should have in the direction of the last item, 1e-6, until it is refined
    first = np.concatenate([1 - 1e-3 * np.arange(K), 0.05 + 1e-3 * np.arange(50)])
    X = np.concatenate([np.outer(first, [1.0, 0.0]), [[0.0, 2e3]]])
    env = Environment.from_arrays(X, np.zeros((1, 2)), k=K, merit=np.ones(K + 51))
    policy = Bandit(estimator=Ridge(sigma=1e6), exploration=UCB(alpha=1.0))
    M, M_inv, nothing = np.diag([1.0, 1e6]), np.diag([1.0, 0.0]), np.zeros(2)
    state = state_of(M_inv, nothing, nothing, M, done=REFINE_EVERY - 20)
    found = assert_same(engine, {"env": env, "policy": policy}, state, tmp_path)
    assert found.tally.appearances[0, -1].sum() == 200 - 1 - 20
