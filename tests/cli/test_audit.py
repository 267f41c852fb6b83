"""faircascade audit: a table, a page, and mistakes in one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NoReturn

import pytest

from faircascade.cli.main import main
from tests.evaluation.audit.logs import random_slates


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    lines = [
        {"who": user, "slate": items, "clicked_positions": hits, "time": 60 * number}
        for number, (user, items, hits) in enumerate(random_slates(1))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = [("item", "genre", "brand", "worth")]
    table += [(f"i{i}", "ab"[i % 2], f"brand {i % 3}", str(1 + i % 4)) for i in range(9)]
    (tmp_path / "items.csv").write_text("".join(",".join(row) + "\n" for row in table))
    return path


OPTIONS = ("--user", "who", "--items", "items.csv", "--group", "genre", "--supplier", "brand")


def test_it_prints_a_table_and_writes_a_page(run, log: Path, tmp_path: Path) -> None:
    code, out, err = run("audit", str(log), *OPTIONS, "--merit", "worth", "--out", "page")
    assert code == 0, err
    assert "log.jsonl: 200 impressions" in out
    assert "Equality (P)" in out
    assert "95% interval" in out
    assert "By genre" in out
    assert "By supplier" in out
    assert f"Page: {Path('page') / 'audit.html'}" in err
    files = {path.name for path in (tmp_path / "page").iterdir()}
    tables = {f"{n}.csv" for n in ("items", "groups", "metrics", "positions", "periods")}
    assert files == tables | {"audit.html", "audit.md", "figures"}
    with (tmp_path / "page" / "items.csv").open() as file:
        assert sum(int(row["appearances"]) for row in csv.DictReader(file)) == sum(
            len(items) for _, items, _ in random_slates(1)
        )


def test_json_is_one_document(run, log: Path) -> None:
    code, out, err = run("audit", str(log), "--user", "who", "--merit", "equal", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert Path(found["page"]) == Path("runs/audit/audit.html")
    assert found["impressions"] == 200
    assert found["metrics"]["equality_b"]["low"] <= found["metrics"]["equality_b"]["high"]
    assert found["groups"] == {}
    assert [row["position"] for row in found["positions"]] == [1, 2, 3]


def test_what_is_dropped_is_told(run, log: Path) -> None:
    with log.open("a") as file:
        file.write('{"who": "u", "slate": ["x", "x"], "clicked_positions": [], "time": 1}\n')
    code, _, err = run("audit", str(log), "--user", "who", "--out", "page")
    assert code == 2
    assert err.count("\n") == 1
    assert "--invalid drop" in err
    code, _, err = run("audit", str(log), "--user", "who", "--invalid", "drop", "--out", "page")
    assert code == 0
    assert "1 impression was left out" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--group", "genre"), "--group must come with a table of items"),
        (("--merit", "worth"), "--merit must be 'estimated', 'equal', or a column of a table"),
        (("--items", "items.csv", "--group", "gender"), "no column 'gender'"),
        (("--items", "nothing.csv"), "nothing.csv"),
        (("--items", "items.csv", "--items-id", "brand"), "none of the items of the log"),
        (("--periods", "1"), "--periods must be 0 or at least 2, got 1"),
        (("--click", "hits"), "no column 'hits'"),
    ],
)
def test_a_mistake_is_one_line(run, log: Path, arguments, message: str) -> None:
    code, out, err = run("audit", str(log), "--out", "page", *arguments)
    assert (code, out) == (2, "")
    errors = [line for line in err.splitlines() if not line.startswith("Note:")]
    assert len(errors) == 1
    assert message in errors[0]


def test_a_log_that_is_not_there_is_one_line(run) -> None:
    code, _, err = run("audit", "nowhere.parquet")
    assert code == 2
    assert err == "Error: nowhere.parquet: no such file or folder\n"


def test_an_audit_that_fails_leaves_no_folder(run, log: Path, tmp_path: Path) -> None:
    code, _, _ = run("audit", str(log), *OPTIONS, "--merit", "wort", "--out", "new/page")
    assert code == 2
    assert not (tmp_path / "new").exists()
    (tmp_path / "there").mkdir()
    assert run("audit", str(log), *OPTIONS, "--merit", "wort", "--out", "there")[0] == 2
    assert (tmp_path / "there").is_dir()


def test_counts_are_told_from_a_log(run, tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("url,pos,Impression,Click\na,1,90,30\na,2,90,10\nb,1,90,20\n")
    code, _, err = run("audit", str(file))
    assert code == 2
    assert "there is nothing to audit without the impressions themselves" in err
    assert "fit --counts" in err


def test_few_users_and_popularity_from_clicks_are_told(run, log: Path) -> None:
    code, out, err = run("audit", str(log), *OPTIONS, "--json", "--out", "page")
    assert code == 0, err
    notes = " ".join(json.loads(out)["notes"])
    assert "there are 39 users: intervals of the metrics of groups are too short" in notes
    assert "popularity is estimated from the clicks" in notes
    page = (Path("page") / "audit.md").read_text()
    assert "Popularity is estimated from the clicks" in page


def test_ctrl_c_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    (tmp_path / "log.csv").write_text("user,item,click\nu,a,0\n")
    monkeypatch.setattr("faircascade.data.log.Log.blocks", interrupted)
    monkeypatch.setattr("sys.argv", ["faircascade", "audit", str(tmp_path / "log.csv")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err.splitlines()[-1] == "Stopped before anything was finished."
