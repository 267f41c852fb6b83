"""Keyed draws: functions of where they are used, and random enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.random import draws, gumbel, key_of, keys_of, normals, uniform, uniforms

words = st.integers(0, 2**64 - 1)


@given(seed=st.integers(0, 2**70), user=words, round=st.integers(1, 10**6), item=words)
def test_a_draw_depends_on_its_place_alone(seed: int, user: int, round: int, item: int) -> None:
    alone = draws(seed, "attraction", [user], [round], [item])
    others = np.array([item, 5, 6, 7], dtype=np.uint64)
    assert draws(seed, "attraction", [[user]], [[round]], others[None])[0, 0] == alone[0]


@given(place=st.tuples(words, st.integers(1, 10**6), words), bit=st.integers(0, 19))
def test_every_part_of_the_place_matters(place: tuple[int, int, int], bit: int) -> None:
    here = draws(1, "a", *([part] for part in place))
    for part in range(3):
        moved = list(place)
        moved[part] ^= 1 << bit
        assert draws(1, "a", *([p] for p in moved)) != here
    assert draws(2, "a", *([p] for p in place)) != here
    assert draws(1, "b", *([p] for p in place)) != here


def test_uniforms_are_uniform_along_every_coordinate() -> None:
    # 64 cells over 2^16 draws: the chi-square statistic has mean 63 and sd 11.2
    n = np.arange(2**16)
    fixed = np.full(len(n), 3)
    for where in ((n, fixed, fixed), (fixed, n, fixed), (fixed, fixed, n), (n, n, n)):
        u = uniforms(0, "test", *where)
        assert ((u >= 0) & (u < 1)).all()
        cells = np.bincount((u * 64).astype(int), minlength=64)
        assert abs(((cells - 1024) ** 2 / 1024).sum() - 63) < 5 * 11.2


def test_neighbouring_rounds_users_and_items_are_uncorrelated() -> None:
    grid = uniforms(
        7,
        "test",
        np.arange(40)[:, None, None],
        np.arange(40)[None, :, None],
        np.arange(40)[None, None, :],
    )
    for axis in range(3):
        a = np.delete(grid, -1, axis=axis).ravel()
        b = np.delete(grid, 0, axis=axis).ravel()
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(len(a))


def test_flipping_one_input_bit_flips_half_of_the_output() -> None:
    base = np.arange(2000, dtype=np.uint64)
    for bit in range(0, 64, 7):
        changed = draws(0, "x", base) ^ draws(0, "x", base ^ np.uint64(1 << bit))
        share = np.unpackbits(changed.view(np.uint8)).mean()
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(2000 * 64)


def test_normals_have_the_moments_of_a_normal() -> None:
    z = normals(3, "test", 5, np.arange(20_000))
    assert z.shape == (20_000, 5)
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(20_000)
    assert np.abs(np.cov(z.T) - np.eye(5)).max() < 5 * np.sqrt(2 / 20_000)
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / z.size)


def test_gumbel_draws_have_the_moments_of_a_gumbel() -> None:
    # mean 0.5772 (Euler's constant), variance pi^2 / 6, fourth central moment 5.4 variance^2
    z = gumbel(draws(3, "test", np.arange(200_000)))
    variance = np.pi**2 / 6
    assert abs(z.mean() - np.euler_gamma) < 5 * np.sqrt(variance / len(z))
    assert abs(z.var() - variance) < 5 * variance * np.sqrt(4.4 / len(z))


def test_gumbel_draws_follow_their_distribution() -> None:
    # P(z <= x) = exp(-exp(-x)); Kolmogorov's statistic times sqrt(n) is above 2 once in 1,500 runs
    z = np.sort(gumbel(draws(4, "test", np.arange(100_000))))
    expected = np.exp(-np.exp(-z))
    seen = np.arange(1, len(z) + 1) / len(z)
    assert np.abs(seen - expected).max() < 2 / np.sqrt(len(z))


def test_gumbel_draws_are_finite_at_both_ends() -> None:
    ends = np.array([0, 1, 2**11 - 1, 2**11, 2**64 - 2**11, 2**64 - 1], dtype=np.uint64)
    z = gumbel(ends)
    assert np.isfinite(z).all()
    assert z[0] == z[1] == z[2] == z[3] == pytest.approx(53 * np.log(2))  # u = 2^-53
    assert z[4] == z[5] == pytest.approx(-np.log(53 * np.log(2)))  # u = 1 - 2^-53


@given(first=words, second=words)
def test_gumbel_draws_fall_as_the_uniform_rises(first: int, second: int) -> None:
    pair = np.sort(np.array([first, second], dtype=np.uint64))
    higher, lower = gumbel(pair)
    assert higher >= lower
    u = uniform(pair)
    if u[1] - u[0] > 1e-12:
        assert higher > lower


@given(word=st.integers(2**11, 2**64 - 1))
def test_gumbel_draws_are_minus_log_minus_log(word: int) -> None:
    words = np.array([word], dtype=np.uint64)
    expected = -np.log(-np.log1p(-uniform(words)))
    assert gumbel(words) == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_keys_are_stable_and_do_not_tell_numbers_from_text() -> None:
    assert key_of("user-7") == 0x997017100030D23E  # 64 bits of BLAKE2b: saved models rely on it
    assert key_of(7) == key_of("7") == key_of(np.int64(7))
    assert keys_of(["a", "b"]).tolist() == [key_of("a"), key_of("b")]


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"seed must be between 0 and 2\^128 - 1, got -1"):
        draws(-1, "x", [1])
