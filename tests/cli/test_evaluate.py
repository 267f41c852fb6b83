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
        (("--policy", "ranker.npz"), "for the file of a ranker there is --frozen"),
        (("--policy-cascade", "ours"), "there is no column 'ours' (--policy-cascade)"),
    ):
        code, out, err = run("evaluate", path, *arguments, "--out", "page")
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
        assert not (tmp_path / "page").exists()


def test_an_unknown_policy_is_named_by_its_option(run, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,item,position,click\nu,a,1,0\n")
    code, _, err = run("evaluate", str(log), "--policy", "linucbb")
    assert code == 2
    assert "--policy must be one of" in err
    assert "did you mean 'linucb'?" in err


def test_what_is_left_out_is_told(run, tmp_path) -> None:
    log = tmp_path / "log.csv"
    rows = "".join(f"{n},u{n % 30},{n % 4},1,{n % 2},0.25\n" for n in range(400))
    head = "impression,user,item,position,click,pscore\n"
    log.write_text(f"{head}400,u,1,1,1,0\n{rows}")
    code, _, err = run("evaluate", str(log), "--policy", "random", "--invalid", "drop")
    assert code == 0
    assert "Note: 1 impression was left out: column 'pscore' must be above 0" in err


def test_an_interrupt_is_one_line_and_leaves_nothing_behind(run, tmp_path, monkeypatch) -> None:
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    path = str(trace(tmp_path, environment(), rounds=2))
    monkeypatch.setattr("faircascade.evaluate", interrupted, raising=False)
    code, out, err = run("evaluate", path, "--policy", "random", "--out", "page")
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "Stopped before anything was finished."
    assert not (tmp_path / "page").exists()
