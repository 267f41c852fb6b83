"""Sums in a fixed order: the same bits by every way to take them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from faircascade import numerics
from faircascade.engine.cpu.kernels import logistic
from faircascade.engine.cpu.kernels.compiling import part
from faircascade.numerics import (
    ROUNDOFF,
    inverse,
    one_blas_thread,
    ordered_dot,
    quadratic_form,
    sigmoid,
)


def dot_by_hand(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = a[0] * b[0]
    for left, right in zip(a[1:], b[1:], strict=True):
        total = total + left * right
    return total


def form_by_hand(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    total = 0.0
    for a in range(len(x)):
        inner = A[a, a] * x[a]
        if a + 1 < len(x):
            beside = dot_by_hand(A[a, a + 1 :], x[a + 1 :])
            inner = inner + (beside + beside)
        total = total + x[a] * inner
    return total


@settings(max_examples=60)
@given(
    d=st.integers(1, 12),
    n=st.integers(1, 40),
    shared=st.booleans(),
    scale=st.sampled_from([1e-8, 1.0, 1e6]),
    seed=st.integers(0, 10**6),
)
def test_few_numbers_and_many_give_the_same_bits(
    d: int, n: int, shared: bool, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d, 1 if shared else n)) * scale
    A = A + A.transpose(1, 0, 2)
    x = rng.normal(size=(d, n))
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 10**9):
            patch.setattr(numerics, "_FEW", few)
            assert np.array_equal(ordered_dot(A[0], x), dot_by_hand(A[0], x))
            assert np.array_equal(quadratic_form(A, x), form_by_hand(A, x))


def test_linear_algebra_stays_at_one_thread_until_the_last_one_leaves():
    def threads() -> set[int]:
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    first, second = one_blas_thread(), one_blas_thread()
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == before


@given(d=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_the_inverse_is_symmetric_and_as_exact_as_the_condition_allows(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(d, max(1, d // 2), 3)) * 10.0 ** rng.uniform(0, 3)
    A = np.einsum("aki,bki->abi", x, x) + np.eye(d)[:, :, None]
    A = 0.5 * (A + A.transpose(1, 0, 2))
    found = inverse(A)
    assert np.array_equal(found, found.transpose(1, 0, 2))
    for i in range(3):
        residual = np.abs(A[:, :, i].astype(np.longdouble) @ found[:, :, i] - np.eye(d)).max()
        assert residual < 4 * d * ROUNDOFF * np.linalg.cond(A[:, :, i])


def blas_threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_linear_algebra_has_one_thread_whoever_asks_first_and_leaves_last() -> None:
    before, seen, turn = blas_threads(), [], [threading.Event() for _ in range(2)]

    def first() -> None:
        with one_blas_thread():
            seen.append(blas_threads())
            turn[0].set()
            turn[1].wait(10)
        seen.append(blas_threads())  # the other one is still inside

    with one_blas_thread():
        seen.append(blas_threads())
    assert blas_threads() == before
    thread = threading.Thread(target=first)
    thread.start()
    turn[0].wait(10)
    with one_blas_thread():
        turn[1].set()
        thread.join()
        seen.append(blas_threads())
    assert seen == [{1}] * 4
    assert blas_threads() == before


def test_the_sigmoid_is_right_and_has_the_same_bits_in_numpy_and_compiled() -> None:
    x = np.append(np.random.default_rng(0).normal(scale=10, size=3000), [0.0, -0.0, 30.0, -30.0])
    cut = x.clip(-30, 30)
    np.testing.assert_allclose(sigmoid(x), 1 / (1 + np.exp(-cut)), rtol=1e-13)
    assert sigmoid(0.0) == 0.5
    assert sigmoid(np.array([-1e300, 1e300])).tolist() == sigmoid(np.array([-30.0, 30.0])).tolist()

    @part
    def all_of(values, found):
        for i in range(len(values)):
            found[i] = logistic.sigmoid(values[i])

    found = np.empty_like(x)
    all_of(x, found)
    assert found.tobytes() == sigmoid(x).tobytes()
