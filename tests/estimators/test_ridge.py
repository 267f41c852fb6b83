"""Ridge sums: the inverse is an inverse, and order does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.estimators import Ridge
from faircascade.types import Items
from tests.evidence import evidence

EVERY = slice(None)


def random_feedback(rng, n, k, d):
    features = rng.normal(size=(n, k, d))
    weights = rng.normal(size=(n, k))
    examined = rng.integers(1, k + 1, size=n)
    return features, weights, examined


def identity_error(state) -> float:
    M, M_inv = (a.transpose(2, 0, 1).astype(np.longdouble) for a in (state.M, state.M_inv))
    return float(np.abs(M @ M_inv - np.eye(len(state.M))).max())


@settings(max_examples=30)
@given(
    d=st.integers(1, 6),
    k=st.integers(1, 5),
    sigma=st.floats(0.2, 3),
    ridge=st.floats(0.01, 10),
    seed=st.integers(0, 10**6),
)
def test_sums_match_the_definition(d: int, k: int, sigma: float, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for reading, gain, scale in (
        ("paper", sigma**-2, sigma**-2),
        ("intended", sigma**-2, sigma**-2),
        ("reference", sigma, 1.0),
    ):
        estimator = Ridge(ridge=ridge, sigma=sigma, reading=reading)
        state = estimator.start(3, d)
        M, B = np.tile(ridge * np.eye(d), (3, 1, 1)), np.zeros((3, d))
        for _ in range(6):
            features, weights, examined = random_feedback(rng, 3, k, d)
            estimator.update(state, EVERY, evidence(features, weights, examined))
            for user in range(3):
                for position in range(examined[user]):
                    x = features[user, position]
                    M[user] += gain * np.outer(x, x)
                    B[user] += weights[user, position] * x
        theta = scale * np.linalg.solve(M, B[:, :, None])[:, :, 0]
        assert np.allclose(state.M.transpose(2, 0, 1), M, rtol=1e-10, atol=1e-10)
        assert np.allclose(state.theta.T, theta, rtol=1e-7, atol=1e-8)
        assert identity_error(state) < 1e-8


def few_directions(length: float = 0.5**0.5) -> np.ndarray:
    """Slates (4, 10, 10) of items that have features in three directions of ten."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(10, 10)))[0][:3]
    features = rng.normal(size=(4, 10, 3)) @ basis
    return features * (length / np.linalg.norm(features, axis=2, keepdims=True))


def test_the_inverse_stays_one_where_few_directions_are_seen() -> None:
    # sigma = 0.01 makes 600 updates as bad as six million: the condition of M reaches 2e7. Without
    # refinement the residual is 2e-7, with Newton steps alone 5e-4.
    estimator, features = Ridge(sigma=0.01), few_directions()
    state = estimator.start(4, 10)
    for update in range(1, 601):
        estimator.update(state, EVERY, evidence(features, np.ones((4, 10)), np.full(4, 10)))
        if update % 20 == 0:
            assert identity_error(state) < 1e-8, update
    assert np.array_equal(state.M_inv, state.M_inv.transpose(1, 0, 2))
    assert (np.linalg.eigvalsh(state.M_inv.transpose(2, 0, 1)) > 0).all()


def test_an_inverse_that_float64_cannot_hold_is_an_error_and_leaves_the_state_alone() -> None:
    estimator, features = Ridge(sigma=0.01), few_directions(length=10.0)
    state = estimator.start(4, 10)
    lesson = np.arange(4), evidence(features, np.ones((4, 10)), np.full(4, 10))
    before = []

    def learn_on() -> None:
        for _ in range(100):  # how many it takes depends on how a processor rounds
            before[:] = [estimator.take(state, EVERY)]
            estimator.update(state, *lesson)

    with pytest.raises(FloatingPointError, match="1e-08"):
        learn_on()
    for name, array in estimator.arrays(state).items():
        assert np.array_equal(array, getattr(before[0], name)), name


@given(seed=st.integers(0, 10**6))
def test_the_order_of_feedback_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    estimator = Ridge()
    batches = [random_feedback(rng, 2, 3, 4) for _ in range(8)]
    states = []
    for order in (range(8), reversed(range(8))):
        state = estimator.start(2, 4)
        for i in order:
            estimator.update(state, EVERY, evidence(*batches[i]))
        states.append(state)
    assert np.allclose(states[0].theta, states[1].theta, atol=1e-9)
    assert np.allclose(states[0].M_inv, states[1].M_inv, atol=1e-9)


def test_a_subset_of_users_learns_and_the_others_stay() -> None:
    rng = np.random.default_rng(1)
    estimator = Ridge()
    whole, part = estimator.start(4, 3), estimator.start(4, 3)
    features, weights, examined = random_feedback(rng, 4, 2, 3)
    estimator.update(whole, EVERY, evidence(features, weights, examined))
    rows = np.array([3, 1])
    estimator.update(part, rows, evidence(features[rows], weights[rows], examined[rows]))
    assert np.array_equal(part.theta[:, rows], whole.theta[:, rows])
    assert np.array_equal(part.M_inv[:, :, rows], whole.M_inv[:, :, rows])
    assert np.array_equal(part.theta[:, [0, 2]], np.zeros((3, 2)))
    assert part.updates.tolist() == [0, 1, 0, 1]


def test_widths_are_the_same_for_one_user_and_for_many() -> None:
    rng = np.random.default_rng(2)
    estimator, state = Ridge(), Ridge().start(12, 4)
    estimator.update(state, EVERY, evidence(*random_feedback(rng, 12, 3, 4)))
    pool = Items.of(rng.normal(size=(9, 4))).pool
    together = estimator.beliefs(state, EVERY, pool).width().rough
    for user in range(12):
        alone = estimator.beliefs(state, np.array([user]), pool).width().rough[0]
        x = pool.by_feature
        slow = np.sqrt(np.einsum("am,ab,bm->m", x, state.M_inv[:, :, user], x))
        assert np.allclose(alone, slow)
        assert np.allclose(together[user], slow)
    listed = estimator.beliefs(state, EVERY, pool).widths_of(np.array([[0, 3]] * 12), pool)
    assert np.allclose(listed, together[:, [0, 3]])


def test_the_reference_reading_starts_at_one_until_the_first_update() -> None:
    estimator = Ridge(reading="reference")
    state = estimator.start(2, 3)
    assert (state.theta == 1).all()
    estimator.update(state, np.array([0]), evidence(np.ones((1, 1, 3)), np.zeros((1, 1)), [1]))
    assert state.theta[:, 0].tolist() == [0, 0, 0]
    assert (state.theta[:, 1] == 1).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": 0.0}, "ridge must be positive, got 0.0"),
        ({"sigma": -1.0}, "sigma must be positive, got -1.0"),
        ({"reading": "mine"}, "reading must be one of paper, intended, reference, got 'mine'"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ridge(**parameters)


@settings(max_examples=30)
@given(
    d=st.integers(1, 6),
    k=st.integers(1, 5),
    sigma=st.floats(0.2, 3),
    reading=st.sampled_from(["paper", "intended", "reference"]),
    seed=st.integers(0, 10**6),
)
def test_a_state_from_sums_is_the_state_that_was_updated(
    d: int, k: int, sigma: float, reading: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    estimator = Ridge(sigma=sigma, reading=reading)
    state = estimator.start(3, d)
    kept = np.zeros((3, 1 + d + d * (d + 1) // 2))
    for _ in range(5):
        features, weights, examined = random_feedback(rng, 3, k, d)
        estimator.update(state, EVERY, evidence(features, weights, examined))
        kept += estimator.increments(evidence(features, weights, examined))
    assert np.allclose(estimator.sums(state), kept, rtol=1e-9, atol=1e-9)
    again = estimator.from_sums(kept, d)
    for name, array in estimator.arrays(state).items():
        assert np.allclose(getattr(again, name), array, rtol=1e-7, atol=1e-8), name


def test_sums_do_not_depend_on_ridge_and_sigma_so_that_both_can_be_changed_later() -> None:
    features, weights, examined = random_feedback(np.random.default_rng(0), 2, 3, 4)
    first = Ridge(ridge=0.1, sigma=2.0)
    kept = first.increments(evidence(features, weights, examined))
    assert np.array_equal(kept, Ridge().increments(evidence(features, weights, examined)))
    state = Ridge(ridge=3.0).start(2, 4)
    Ridge(ridge=3.0).update(state, EVERY, evidence(features, weights, examined))
    assert np.allclose(Ridge(ridge=3.0).from_sums(kept, 4).theta, state.theta)


def test_sums_that_rounding_has_made_singular_still_give_a_finite_model() -> None:
    x = np.full((1, 1, 3), 1e4)
    kept = Ridge().increments(evidence(x, np.ones((1, 1)), [1])) * 1e12
    state = Ridge(ridge=1e-12).from_sums(kept, 3)
    assert np.isfinite(state.theta).all()
    assert np.isfinite(state.M_inv).all()
