"""faircascade fit: tables, the choice, files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import faircascade as fc
from tests.fitting.generated_logs import MODELS, K, slates_and_clicks, table


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "log.parquet"
    slates, clicks = slates_and_clicks(MODELS["dbn"], 6000)
    query = np.where(np.arange(6000) % 3 == 0, "x", "y")
    parquet.write_table(table(slates, clicks, query=query), path)
    return path


def test_all_models_are_compared(run, log) -> None:
    code, out, _ = run("fit", str(log))
    assert code == 0
    assert "Perplexity by position" in out
    assert "dbn predicts held-out clicks best" in out
    assert "Not fitted: cascade has at most one click a slate" in out
    assert "continuation" in out


def test_json_and_a_file_that_can_be_loaded(run, log, tmp_path) -> None:
    file = tmp_path / "model.json"
    code, out, err = run(
        "fit", str(log), "--model", "dcm", "--context", "query", "--out", str(file), "--json"
    )
    assert code == 0
    assert f"The fitted model is in {file}" in err
    found = json.loads(out)
    assert found["model"] == "dcm"
    assert len(found["candidates"][0]["held_out"]["perplexity_by_position"]) == K
    loaded = fc.FittedClickModel.load(file)
    assert sorted(loaded.contexts) == ["x", "y"]
    assert loaded.click_model.stop == tuple(found["click_model"]["stop"])


def test_counts(run, tmp_path) -> None:
    file = tmp_path / "counts.csv"
    rows = ["query,url,pos,Impression,Click"]
    luck = np.random.default_rng(0)
    for item in range(6):
        rows += [f"q,{item},{p},1000,{luck.binomial(1000, 0.3 / (p + 1))}" for p in range(3)]
    file.write_text("\n".join(rows) + "\n")
    code, out, _ = run("fit", str(file), "--counts")
    assert code == 0
    assert "Not fitted: ubm cannot be fitted" in out
    file.write_text("\n".join([*rows, "q,9,0,1,2"]) + "\n")
    code, _, err = run("fit", str(file), "--counts")
    assert code == 2
    assert "(or cap them with --excess cap), got '2'" in err
    code, out, _ = run("fit", str(file), "--counts", "--excess", "cap", "--model", "pbm")
    assert code == 0
    assert "1 rows have more clicks than impressions" in out
    assert "kappa" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "pbn"], "--model must be one of auto, cascade"),
        (["--held-out", "1"], "--held-out must be at least 0 and below 1, got 1.0"),
        (["--model", "cascade"], "cascade has at most one click a slate"),
        (["--excess", "cap"], "--excess must come with --counts, got 'cap'"),
        (["--counts", "--user", "user_id"], "--user must be left out"),
        (["--out", "."], "--out must be a file, got '.'"),
        (["--out", __file__ + "/model.json"], "--out must be in a folder that can be written to"),
    ],
)
def test_a_mistake_is_one_line(run, log, options, message) -> None:
    code, _, err = run("fit", str(log), *options)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_text_logs_are_read(run, tmp_path) -> None:
    slates, clicks = slates_and_clicks(MODELS["pbm"], 500)
    rows = np.repeat(np.arange(500), K)
    import pyarrow as pa

    frame = pa.table(
        {
            "impression_id": rows,
            "item_id": slates.reshape(-1),
            "click": clicks.reshape(-1).astype(int),
        }
    )
    arrow_csv.write_csv(frame, tmp_path / "log.csv")
    code, out, err = run("fit", str(tmp_path / "log.csv"), "--model", "pbm")
    assert code == 0
    assert "500 impressions of 12 items" in out
    assert "no column looks like users" in err


def test_a_file_that_cannot_be_written_costs_no_fit(run, log, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("faircascade.cli.fit.can_be_written", lambda _: False)
    monkeypatch.setattr("faircascade.fitting.fit_click_model", None)
    code, out, err = run("fit", str(log), "--out", str(tmp_path / "new" / "model.json"))
    assert (code, out) == (2, "")
    assert "--out must be in a folder that can be written to" in err
    assert not (tmp_path / "new").exists()


def test_the_table_is_printed_if_the_model_cannot_be_saved(run, log, tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", ".model.json.1-2.part")

    monkeypatch.setattr(fc.FittedClickModel, "save", full)
    file = tmp_path / "model.json"
    code, out, err = run("fit", str(log), "--model", "pbm", "--out", str(file))
    assert code == 2
    assert "kappa" in out
    assert f"{file}: the fitted model could not be written: No space left on device" in err
    assert ".part" not in err


def test_columns_of_counts_are_asked_for_by_their_options(run, tmp_path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("item,position,seen,clicks\na,1,9,3\n")
    code, _, err = run("fit", str(file), "--counts")
    assert code == 2
    assert "name it with --impression" in err
    assert "impressions=" not in err


def test_the_log_is_not_overwritten(run, log) -> None:
    before = log.read_bytes()
    code, _, err = run("fit", str(log), "--model", "pbm", "--out", str(log))
    assert code == 2
    assert "--out must not be the log itself" in err
    assert log.read_bytes() == before


def test_ctrl_c_is_one_line(run, log, tmp_path, monkeypatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("faircascade.fitting.fit_click_model", stopped)
    file = tmp_path / "model.json"
    code, out, err = run("fit", str(log), "--out", str(file))
    assert (code, out) == (130, "")
    assert err.strip() == "Stopped before anything was finished."
    assert not file.exists()


def test_parameters_come_with_their_standard_errors(run, log) -> None:
    code, out, _ = run("fit", str(log), "--model", "pbm", "--context", "query")
    assert code == 0
    (kappa,) = [line for line in out.splitlines() if line.split()[:1] == ["kappa"]]
    assert kappa.split()[1] == "1.000"
    assert all("±" in value for value in kappa.split()[2:])
