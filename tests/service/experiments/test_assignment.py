"""Users are assigned by a hash: evenly, stably, independently, and a ramp moves nobody back."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from hashlib import blake2b
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.errors import ParameterError
from faircascade.service.experiments.assignment import (
    BUCKETS,
    Arm,
    Assignment,
    Holdout,
    check_independent,
)
from faircascade.service.experiments.hashing import bucket_of

USERS = [f"user-{n}" for n in range(20_000)]
FAR = 4.5
"""Standard errors that chance does not reach in a test that runs for years."""


def experiment(**shares: float) -> Assignment:
    return Assignment.of("homepage", shares, fallback="control")


def sides(n: int) -> st.SearchStrategy[list[dict[str, float]]]:
    """Return strategies for ramps: shares of three arms that fit, step by step."""
    cut = st.integers(0, BUCKETS)
    step = st.tuples(cut, cut, cut).map(sorted)
    shares = step.map(
        lambda c: {
            "control": c[0] / BUCKETS,
            "fairer": (c[1] - c[0]) / BUCKETS,
            "bolder": (c[2] - c[1]) / BUCKETS,
        }
    )
    return st.lists(shares, min_size=2, max_size=n)


def near(count: int, n: int, share: float) -> bool:
    return abs(count - n * share) <= FAR * math.sqrt(n * share * (1 - share))


def test_a_bucket_is_the_keyed_hash_worked_out_by_hand() -> None:
    key = blake2b(b"8:homepagearm", digest_size=32, person=b"experiments").digest()
    word = int.from_bytes(blake2b(b"user-7", digest_size=8, key=key).digest(), "little")
    assert bucket_of("user-7", "homepage", "arm", 10) == word * 10 // 2**64


def test_salts_and_purposes_that_read_the_same_together_differ() -> None:
    apart = [bucket_of("u", "ab", "c", 2**60), bucket_of("u", "a", "bc", 2**60)]
    assert apart[0] != apart[1]


def test_another_process_assigns_alike() -> None:
    test = experiment(control=0.3, fairer=0.3)
    code = (
        "import json, sys; from faircascade.service.experiments import Assignment;"
        "test = Assignment.from_json(json.load(sys.stdin));"
        "print(json.dumps([test.arm_of(f'user-{n}') for n in range(300)]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(test.to_json()),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "77"},
    )
    assert json.loads(told.stdout) == [test.arm_of(user) for user in USERS[:300]]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_an_arm_gets_its_share_of_users(share) -> None:
    test = experiment(control=0.5, fairer=share)
    found = sum(test.arm_of(user) == "fairer" for user in USERS)
    assert near(found, len(USERS), share)


def test_buckets_are_uniform() -> None:
    counts = [0] * 50
    for user in USERS:
        counts[bucket_of(user, "homepage", "arm", 50)] += 1
    expected = len(USERS) / 50
    chi2 = sum((count - expected) ** 2 / expected for count in counts)
    assert abs(chi2 - 49) < FAR * math.sqrt(2 * 49)


def test_experiments_are_independent_of_each_other() -> None:
    first = experiment(control=0.5, fairer=0.5)
    second = Assignment.of("search", {"old": 0.5, "new": 0.5}, fallback="old")
    both = sum(first.arm_of(u) == "fairer" and second.arm_of(u) == "new" for u in USERS)
    assert near(both, len(USERS), 0.25)


@given(sides(5), st.lists(st.sampled_from(USERS), max_size=30))
def test_nobody_leaves_an_arm_that_does_not_shrink(steps, users) -> None:
    tests = [experiment(**steps[0])]
    for shares in steps[1:]:
        tests.append(tests[-1].ramped(shares))
    for before, after in pairwise(tests):
        grows = {name for name in before.shares if after.shares[name] >= before.shares[name]}
        for user in users:
            assert before.arm_of(user) not in grows or after.arm_of(user) == before.arm_of(user)


@given(sides(5))
def test_every_ramp_has_the_shares_that_were_asked_for(steps) -> None:
    test = experiment(**steps[0])
    for shares in steps[1:]:
        test = test.ramped(shares)
        assert test.shares == pytest.approx(shares)


@given(sides(3))
def test_the_arm_of_every_bucket_is_the_one_that_owns_it(steps) -> None:
    test = experiment(**steps[0]).ramped(steps[1])
    for user in USERS[:40]:
        bucket = bucket_of(user, test.salt, "arm", BUCKETS)
        owners = [a.name for a in test.arms if any(f <= bucket < e for f, e in a.buckets)]
        assert owners == ([] if test.arm_of(user) is None else [test.arm_of(user)])


def test_a_ramp_to_everybody_takes_the_control_over() -> None:
    test = experiment(control=0.99, fairer=0.01).ramped({"control": 0, "fairer": 1})
    assert {test.serves(user) for user in USERS[:100]} == {"fairer"}


def test_a_ramp_may_add_an_arm() -> None:
    test = experiment(control=0.5, fairer=0.2).ramped({"bolder": 0.3})
    assert test.shares == {"control": 0.5, "fairer": 0.2, "bolder": 0.3}


def test_users_outside_are_served_the_fallback_and_are_not_counted() -> None:
    test = experiment(control=0.0, fairer=0.0)
    assert {(test.arm_of(user), test.serves(user)) for user in USERS[:50]} == {(None, "control")}


def test_the_kill_switch_sends_everybody_to_the_fallback_and_can_be_undone() -> None:
    test = experiment(control=0.0, fairer=1.0)
    off = test.stop()
    assert {(off.arm_of(user), off.serves(user)) for user in USERS[:50]} == {(None, "control")}
    assert off.resume() == test


def test_a_holdout_is_the_same_in_all_experiments_and_independent_of_their_arms() -> None:
    held = Holdout(salt="winter", share=0.1)
    tests = [
        Assignment.of(name, {"a": 0.5, "b": 0.5}, fallback="a", holdout=held)
        for name in ("homepage", "search")
    ]
    out = [{user for user in USERS if test.arm_of(user) is None} for test in tests]
    assert out[0] == out[1]
    assert near(len(out[0]), len(USERS), 0.1)
    without = Assignment.of("homepage", {"a": 0.5, "b": 0.5}, fallback="a")
    assert near(sum(without.arm_of(user) == "b" for user in out[0]), len(out[0]), 0.5)


def test_a_larger_holdout_lets_nobody_back_in() -> None:
    small, large = Holdout(salt="winter", share=0.1), Holdout(salt="winter", share=0.3)
    assert all(large.has(user) for user in USERS[:2000] if small.has(user))


@given(sides(3), st.booleans(), st.booleans())
def test_json_brings_it_back(steps, stopped, held) -> None:
    test = Assignment.of(
        "homepage",
        steps[0],
        fallback="fairer",
        salt="layer 2",
        holdout=Holdout(salt="winter", share=0.05) if held else None,
    ).ramped(steps[1])
    test = test.stop() if stopped else test
    assert Assignment.from_json(json.loads(json.dumps(test.to_json()))) == test


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: experiment(control=0.6, fairer=0.5), "shares must add up to at most 1, got"),
        (lambda: experiment(control=1.0), r"arms must be at least two, got \['control'\]"),
        (lambda: experiment(control=-0.1, fairer=0.1), "shares.control must be between 0 and"),
        (lambda: experiment(control=0.5, fairer=math.nan), "shares.fairer must be between 0"),
        (
            lambda: experiment(control=0.5, fairer=0.00001),
            "must be a multiple of 1/10000, got 1e-0",
        ),
        (lambda: experiment(controll=0.5, fairer=0.1), "fallback must be one of controll, fairer"),
        (lambda: experiment(control=0.5, fairer=True), "must be between 0 and 1, got True"),
        (lambda: Assignment.of(" ", {"a": 1, "b": 0}, fallback="a"), "name must be a text that is"),
        (lambda: Holdout(salt="", share=0.1), "salt must be a text that is not empty, got ''"),
        (lambda: Holdout(salt="winter", share=2), "share must be between 0 and 1, got 2"),
        (lambda: Arm(name="a", buckets=((5, 5),)), "buckets of arm 'a' must be ascending ranges"),
        (lambda: Arm(name="a", buckets=((9_999, 10_001),)), "must be ascending ranges within 0 to"),
        (
            lambda: Assignment(name="x", arms=(Arm(name="a"), Arm(name="a")), fallback="a"),
            "arms must have distinct names",
        ),
        (
            lambda: Assignment(
                name="x",
                arms=(Arm(name="a", buckets=((0, 9),)), Arm(name="b", buckets=((8, 10),))),
                fallback="a",
            ),
            "arms must not share buckets, got \"'b' at 8\"",
        ),
        (
            lambda: Assignment.from_json({"version": 2}),
            "version of the assignment must be 1, got 2",
        ),
        (
            lambda: Assignment.from_json({"version": 1, "stopped": False}),
            "assignment must have 'holdout'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_rule(make, message) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_experiments_with_one_salt_are_refused() -> None:
    first = experiment(control=0.5, fairer=0.5)
    second = Assignment.of("search", {"a": 1, "b": 0}, fallback="a", salt="homepage")
    check_independent([first, Assignment.of("search", {"a": 1, "b": 0}, fallback="a")])
    with pytest.raises(ParameterError, match="salt of an experiment must be its own"):
        check_independent([first, second])
    with pytest.raises(ParameterError, match="name of an experiment must be its own"):
        check_independent([first, first])
