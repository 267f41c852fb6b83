"""What `data describe` says of ratings and of the users made of them."""

from __future__ import annotations

import json
from pathlib import Path


def test_describe_tells_what_simulated_users_would_be_like(run) -> None:
    code, out, err = run("data", "describe", "synthetic", "--set", "users=60", "--set", "items=80")
    assert code == 0, err
    assert "world 'popular'" in out
    assert "Correlation of popularity and attraction" in out
    code, out, _ = run(
        "data", "describe", "synthetic", "--set", "users=60", "--set", "items=80", "--json"
    )
    worlds = json.loads(out)["worlds"]
    assert set(worlds) == {"popular", "paper"}
    assert 0 < worlds["popular"]["agreement"]["auc"] < 1


def test_describe_says_why_no_users_can_be_simulated(run, tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    file.write_text("user,item,rating\n1,1,5\n1,2,3\n2,1,4\n")
    code, _, err = run("data", "describe", str(file))
    assert code == 0
    assert "no users could be simulated" in err
