"""faircascade evaluate."""

from __future__ import annotations

import json

from tests.evaluation.logs import environment, trace


def test_prints_verdict_and_writes_a_page(run, tmp_path) -> None:
    path = str(trace(tmp_path, environment(), rounds=10))
    code, out, err = run("evaluate", path, "--policy", "random", "--out", "page")
    assert code == 0
    assert "Random, it does not learn." in out
    assert "SNRIPS" in out
    assert "evaluation.html" in err
    assert (tmp_path / "page" / "estimates.csv").is_file()


def test_json_has_every_number(run, tmp_path) -> None:
    path = str(trace(tmp_path, environment(), rounds=10))
    code, out, _ = run("evaluate", path, "--policy", "cascade-ucb1", "--replay", "--json")
    assert code == 0
    (policy,) = json.loads(out)["policies"]
    assert policy["verdict"] in ("enough", "not enough", "cannot")


def test_a_mistake_is_one_line_and_exit_code_2(run, tmp_path) -> None:
    path = str(trace(tmp_path, environment(), rounds=2))
    for arguments, message in (
        ((), "--policy must be given"),
        (("--policy", "linucb"), "must be given for policy 'LinUCB'"),
        (("--policy", "random", "--matches"), "--matches needs --replay"),
    ):
        code, _, err = run("evaluate", path, *arguments)
        assert code == 2
        assert message in err
        assert len(err.strip().splitlines()[-1]) > 0
