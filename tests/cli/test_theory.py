"""faircascade theory: the numbers, the conditions and what they mean."""

from __future__ import annotations

import json
from functools import partial

import pytest


@pytest.fixture
def run(run):
    """Run the command; return (exit code, stdout, stderr)."""
    return partial(run, "theory")


def test_without_a_weight_the_papers_policies_are_compared(run) -> None:
    code, out, err = run()
    assert code == 0, err
    for text in ("LinUCB", "EALinUCB log", "EALinUCB rbp", "EALinUCB linear", "12.39", "692,542"):
        assert text in out
    assert out.splitlines()[-1].startswith("The theorem limits the regret of none of them")


def test_a_policy_whose_regret_is_limited_is_named(run) -> None:
    flags = "--dim 1 --k 1 --rounds 1000000 --alpha 8"
    _, out, _ = run(*flags.split())
    assert "limits the regret of LinUCB, EALinUCB log, EALinUCB rbp, EALinUCB linear:" in out


def test_with_a_weight_each_condition_is_told_with_its_reason(run) -> None:
    code, out, err = run("--weight", "log", "--reading", "paper")
    assert code == 0, err
    for text in (
        "EALinUCB log: d=10, k=10, 50,000 rounds, sigma=1, alpha=0.25, gamma=0, reading paper",
        "12.3946",
        "-0.5830",
        "13,970 (below n: from round 2,875); valid from alpha_min on",
        "692,542 (below n: from round 22,758,545)",
        "alpha is 0.25, alpha_min 12.39",
        "reward + gamma penalty is 1.099 at position 2",
    ):
        assert text in out
    assert "says nothing about this configuration (see alpha, gamma)" in out.splitlines()[-1]


def test_all_met_is_told_too(run) -> None:
    code, out, _ = run("--weight", "linear", "--gamma", "1", "--alpha", "12.4")
    assert code == 0
    assert "not met" not in out
    assert "All conditions are met, but the bound is 692,842" in out.splitlines()[-1]


def test_a_bound_out_of_reach_is_told(run) -> None:
    _, out, _ = run("--weight", "none", "--alpha", "1e9")
    assert "(below n: not within reach)" in out


def test_json_is_one_document(run) -> None:
    flags = "--weight rbp --beta 0.8 --gamma 0.1 --sigma 2 --reading intended --theta-norm 0.5"
    code, out, err = run(*flags.split(), "--dim", "3", "--k", "4", "--rounds", "100", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["policy"] == "EALinUCB rbp"
    assert document["parameters"]["beta"] == 0.8
    assert document["parameters"]["reading"] == "intended"
    sizes = ("dim", "k", "rounds", "sigma", "gamma", "theta_norm")
    assert [document[name] for name in sizes] == [3, 4, 100, 2.0, 0.1, 0.5]
    assert {c["name"]: c["met"] for c in document["conditions"]} == {
        "alpha": False,
        "gamma": False,
        "preferences": True,
        "estimator": True,
    }


def test_json_of_all_is_a_list(run) -> None:
    _, out, _ = run("--json", "--gamma", "0.1")
    documents = json.loads(out)
    assert [document["policy"] for document in documents] == [
        "LinUCB",
        "EALinUCB log",
        "EALinUCB rbp",
        "EALinUCB linear",
    ]
    assert [document["gamma"] for document in documents] == [0.0, 0.1, 0.1, 0.1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--weight lgo",
            "weight must be one of none, custom, linear, log, rbp, scaled (did you mean 'log'",
        ),
        ("--beta 0.9", "beta must come with --weight, got 0.9"),
        ("--weight log --beta 0.9", "weight 'log' has no parameter 'beta'"),
        ("--weight none --gamma 1", "policy 'linucb' has no parameter 'gamma'"),
        ("--weight rbp --beta 2", "beta must be in (0, 1] for rbp, got 2.0"),
        ("--dim 0", "dim must be at least 1, got 0"),
        ("--k 0", "k must be at least 1, got 0"),
        ("--rounds 0", "rounds must be at least 1, got 0"),
        ("--alpha -1", "alpha must be >= 0, got -1.0"),
        ("--gamma -1", "gamma must be >= 0, got -1.0"),
        ("--sigma 0", "sigma must be positive, got 0.0"),
        ("--theta-norm -1", "--theta-norm must be >= 0, got -1.0"),
        ("--reading mine", "reading must be one of paper, intended, reference, got 'mine'"),
        ("--rounds many", "--rounds must be a whole number"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(run, arguments: str, message: str) -> None:
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("Error:")
    assert message in line
