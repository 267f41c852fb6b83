"""faircascade bench measures what it says it does, at sizes too small to say anything."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.experiment import bench
from faircascade.experiment.bench import isolated_run, peer
from faircascade.experiment.bench.environments import low_rank, more_items
from faircascade.installation import install_command
from faircascade.policies import LinUCB
from tests.cli.processes import interrupted
from tests.environments import small_environment

TINY = "--quick --users 16 --rounds 3 --full-rounds 2 --thompson-rounds 2 --loop-rounds 2"


@pytest.fixture
def run(run):
    """Run the command; return (exit code, stdout, stderr)."""
    return partial(run, "bench")


def cases(*names: str) -> list[str]:
    return [word for name in names for word in ("--case", name)]


def test_json_is_one_document_with_positive_numbers(run) -> None:
    code, out, err = run(*TINY.split(), "--json", *cases("full", "thompson", "loop", "dim"))
    assert code == 0, err
    document = json.loads(out)
    assert set(document["versions"]) == {"python", "numpy", "numba", "faircascade"}
    assert document["machine"]["cpu"]
    assert document["machine"]["cores"] >= 1
    assert document["data"] == "synthetic"
    assert document["interrupted"] is False
    assert any("full is measured over 2 of the 3 rounds" in note for note in document["notes"])
    rows = document["measurements"]
    found = [(row["case"], row["policy"], row["engine"], row["rounds"], row["dim"]) for row in rows]
    assert found == [
        ("paper", "LinUCB", "cpu, lazy", 3, 10),
        ("paper", "EALinUCB log", "cpu, lazy", 3, 10),
        ("full", "LinUCB", "cpu, full", 2, 10),
        ("full", "EALinUCB log", "cpu, full", 2, 10),
        ("thompson", "LinTS", "cpu, full", 2, 10),
        ("dim", "LinUCB", "cpu, lazy", 3, 20),
        ("dim", "EALinUCB log", "cpu, lazy", 3, 20),
        ("loop", "LinUCB", "loop", 2, 10),
        ("loop", "EALinUCB log", "loop", 2, 10),
    ]
    for row in rows:
        assert row["users"] == 16
        assert row["recommendations"] == 16 * row["rounds"]
        assert row["seconds"] > 0
        assert row["recommendations_per_second"] > 0
        assert (row["peak_memory"] or 0) > 0 or row["case"] != "paper"
        assert (row["time_against_paper"] is None) == (row["case"] == "paper")


def test_the_table_tells_machine_versions_and_notes(run) -> None:
    code, out, err = run(*TINY.split(), *cases("loop"), "--threads", "1")
    assert code == 0, err
    for text in ("LinUCB", "EALinUCB log", "Slates/s", "1 thread;", "numba", "compiled and loaded"):
        assert text in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (cases("papr"), "case must be one of paper, full, thompson, items, dim, loop, large"),
        (cases("papr"), "(did you mean 'paper'?), got 'papr'"),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--threads", "0"], "threads must be at least 1, got 0"),
        ([*cases("loop"), "--users", "5000"], "users must be between 1 and 1000, got 5000"),
        (["--against", "fairdynamicrek"], "did you mean 'fairdynamicrec'?"),
        (["--data", "ml-1mm"], "did you mean 'ml-1m'?"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(run, arguments, message) -> None:
    code, out, err = run("--quick", *arguments)
    assert code == 2
    assert out == ""
    assert err.splitlines()[-1].startswith("Error:")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_package_that_is_not_installed_is_told_before_anything_is_measured(
    run, monkeypatch
) -> None:
    monkeypatch.setattr(peer, "find_spec", lambda _: None)
    code, out, err = run("--against", "fairdynamicrec")
    assert (code, out) == (2, "")
    assert install_command("peers") in err
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(
    importlib.util.find_spec("fair_dynamic_rec") is None, reason="needs the `peers` extra"
)
def test_the_authors_package_is_measured_beside_ours() -> None:
    env = low_rank(users=6, items=30, dim=4, k=3)
    shares: list[float] = []
    measured = peer.PeerRun(case="against", environment=lambda: env, slates=20).measure(
        shares.append
    )
    assert measured.recommendations == 24  # whole rounds of 6 users
    assert measured.per_second > 0
    assert shares[-1] == 1.0


def test_a_process_of_its_own_measures_time_and_memory(run) -> None:
    environments = bench.BenchEnvironments(ratings=load_dataset("synthetic"), users=8)
    sizes = bench.QUICK.with_given(large_rounds=2, large_users=8, large_items=500)
    (task,) = bench.plan(bench.choose(["large"]), environments, sizes, threads=1)
    measured = task.measure()
    assert (measured.users, measured.items, measured.recommendations) == (8, 500, 16)
    assert measured.seconds > 0
    assert measured.peak_memory is not None
    assert 10e6 < measured.peak_memory < 4e9


def test_a_process_of_its_own_that_fails_is_told() -> None:
    env = small_environment(users=2, items=20, dim=3, k=4)
    broken = isolated_run.IsolatedRun(
        case="paper", environment=lambda: env, policy=LinUCB(), rounds=2, engine="warp"
    )
    with pytest.raises(ChildProcessError, match="engine must be one of"):
        broken.measure()


def test_what_was_measured_before_a_failure_is_printed(run, monkeypatch) -> None:
    def fail(*_, **__):
        raise ChildProcessError("it broke")

    monkeypatch.setattr(isolated_run.IsolatedRun, "measure", fail)
    code, out, err = run(*TINY.split(), *cases("loop", "large"), "--json")
    assert code == 2
    assert "it broke" in err
    assert len(json.loads(out)["measurements"]) == 2
    assert json.loads(out)["interrupted"] is True


def test_a_run_without_its_cores_is_remarked() -> None:
    alone = bench.Measurement(
        case="paper",
        policy="LinUCB",
        engine="cpu, lazy",
        users=8,
        items=20,
        dim=2,
        k=3,
        rounds=5,
        threads=1,
        recommendations=40,
        seconds=2.0,
        cores_used=0.99,
    )
    crowded = dataclasses.replace(alone, cores_used=0.5)
    assert bench.disturbed([alone]) == []
    (note,) = bench.disturbed([alone, crowded])
    assert note.endswith("slowed down: paper, LinUCB: 0.5 of 1.")


def test_more_items_keeps_the_first_copy_and_the_norms() -> None:
    environments = bench.BenchEnvironments(
        ratings=load_dataset("synthetic", users=40, items=60), users=20
    )
    env, more = environments.paper, environments.tenfold
    p = len(env.items.pool)
    assert len(more.items) == 10 * p
    assert np.allclose(more.items.features[:p], env.items.features[env.items.pool.rows])
    assert np.allclose(np.linalg.norm(more.items.features, axis=1), 1 / np.sqrt(2))
    assert len(np.unique(more.items.features, axis=0)) > 9 * p
    assert environments.wide.items.dim == 20
    assert isinstance(more_items(env, copies=2), Environment)


@pytest.mark.slow
def test_ctrl_c_prints_what_was_measured_by_then(tmp_path: Path) -> None:
    command = f"bench {TINY} --case loop --case large --large-rounds 1000000 --json"
    code, out, err = interrupted(command, when="large", folder=tmp_path)
    assert code == 0, err
    document = json.loads(out)
    assert document["interrupted"] is True
    assert [row["case"] for row in document["measurements"]] == ["loop", "loop"]
    assert "2 of 3" in err
