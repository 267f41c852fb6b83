"""Searching parameters: the same search however often it is stopped, and honest about the rest."""

from __future__ import annotations

import re
import statistics
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from faircascade.data.load import load_dataset
from faircascade.engine import simulate
from faircascade.experiment.running import run_cell
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from faircascade.experiment.tuning import loop as tuning
from faircascade.experiment.tuning import proposals
from faircascade.experiment.tuning.loop import Tuned, tune
from faircascade.experiment.tuning.search import Search
from faircascade.experiment.tuning.trial import Trial
from faircascade.experiment.tuning.tuned import (
    comparison_of,
    label_of,
    trial_columns,
    verdicts,
    write_comparison,
    write_trials,
)
from faircascade.installation import install_command
from tests.experiment.specs import TUNE

pytest.importorskip("optuna")

RATINGS = load_dataset("synthetic", users=20, items=60)
SOURCES = Sources({RATINGS.fingerprint: RATINGS})
TRIALS = 14  # the sampler learns from the eleventh on
LOOSE = TUNE.replace("clicks >= -3%", "clicks >= -20%")


def searched(folder: Path, text: str = LOOSE, *, trials: int = TRIALS, **options: Any) -> Tuned:
    search = Search.of(Spec.parse(text), trials=trials)
    return tune(search, RATINGS.fingerprint, SOURCES, Results(folder), **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tune")


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> Tuned:
    return searched(folder)


def counting(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[int, Any], None] = lambda count, policy: None
) -> list[Any]:
    """Keep the policies that are simulated; `before` is called with their number and each."""
    ran: list[Any] = []

    def counted(env: Any, policy: Any, **options: Any) -> Any:
        before(len(ran) + 1, policy)
        ran.append(policy)
        return simulate(env, policy, **options)

    monkeypatch.setattr(run_cell, "simulate", counted)
    return ran


def test_a_search_tries_the_policy_as_written_and_then_others(undisturbed: Tuned) -> None:
    assert undisturbed.complete
    assert [trial.number for trial in undisturbed.trials] == list(range(1, TRIALS + 1))
    first, *others = undisturbed.trials
    assert first.values == {"weight": "log", "gamma": 0.0, "alpha": 0.25}
    for trial in others:
        assert undisturbed.search.candidates.has(trial.values)
    assert {trial.values["weight"] for trial in others} == {"log", "rbp"}
    assert {("beta" in trial.values) for trial in others} == {True, False}


def test_the_best_is_the_best_of_those_that_keep_to_the_bounds(undisturbed: Tuned) -> None:
    base = undisturbed.baseline["clicks"]
    kept = [t for t in undisturbed.trials if t.means["clicks"] >= 0.8 * base]
    assert kept
    assert undisturbed.best == max(kept, key=lambda trial: trial.means["equality_p"])
    assert {trial.number for trial in undisturbed.trials if trial.is_feasible} == {
        trial.number for trial in kept
    }


@pytest.mark.parametrize("pressed", [1, 5, 24])
def test_a_search_that_is_stopped_goes_on_to_the_same_end(
    pressed: int, undisturbed: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes in some cell: in the first of all, in a trial, in one that the sampler chose."""

    def press(count: int, policy: Any) -> None:
        if count == pressed:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        counting(patch, press)
        stopped = searched(tmp_path)
    finished = pressed - 1
    assert not stopped.complete
    assert not stopped.trouble
    assert len(stopped.trials) == max(0, finished // 2 - 1)  # two seeds; the baseline comes first
    assert stopped.trials == undisturbed.trials[: len(stopped.trials)]
    ran = counting(monkeypatch)
    again = searched(tmp_path)
    assert again.trials == undisturbed.trials
    assert again.best == undisturbed.best
    assert again.baseline == undisturbed.baseline
    assert len(ran) == 2 * (TRIALS + 1) - finished


def test_ctrl_c_between_two_trials_is_no_different(
    undisturbed: Tuned, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(study: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("optuna.study.Study.ask", press)
        stopped = searched(folder)
    assert not stopped.complete
    assert stopped.trials == undisturbed.trials[:1]


def test_more_trials_go_on_from_fewer(
    undisturbed: Tuned, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = counting(monkeypatch)
    more = searched(folder, trials=TRIALS + 1)
    assert more.trials[:TRIALS] == undisturbed.trials
    assert len(ran) == 2
    assert searched(folder, trials=5).trials == undisturbed.trials[:5]


def test_another_seed_of_the_sampler_is_another_search(undisturbed: Tuned, folder: Path) -> None:
    other = LOOSE.replace("trials = 6", "sampler_seed = 1")
    found = searched(folder, other, trials=3)
    assert found.trials[0] == undisturbed.trials[0]
    assert found.trials[1].values != undisturbed.trials[1].values


def test_values_that_come_again_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = LOOSE[: LOOSE.index("gamma =")] + 'weight = {choices = ["log", "linear"]}\n'
    ran = counting(monkeypatch)
    found = searched(tmp_path, text, trials=6)
    assert len({str(trial.values) for trial in found.trials}) == 2
    assert len(ran) == 2 * 3
    assert found.best is not None
    assert found.best.number == min(t.number for t in found.trials if t.values == found.best.values)


def test_a_trial_that_cannot_be_run_is_noted_and_the_search_goes_on(
    undisturbed: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = undisturbed.trials[2].values["alpha"]

    def refuse(count: int, policy: Any) -> None:
        if policy.alpha == bad:
            raise ValueError("this one is bad")

    counting(monkeypatch, refuse)
    found = searched(tmp_path, trials=5)
    assert found.complete
    assert [trial.number for trial in found.failures] == [3]
    assert found.failures[0].failure == "this one is bad"
    assert not found.failures[0].is_feasible
    assert found.trials[3:] == undisturbed.trials[3:5]
    assert len(found.ranking) == 4


def test_values_that_do_not_go_together_are_a_trial_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A beta of 2 is for the weight "linear", and "rbp" takes no more than 1."""
    text = LOOSE.replace('["log", "rbp"]', '["rbp", "linear"]')
    text = text.replace("{low = 0.1, high = 0.9, step = 0.1}", "{low = 0.5, high = 40.0}")
    found = searched(tmp_path, text, trials=8)
    assert found.complete
    assert {trial.values["weight"] for trial in found.failures} == {"rbp"}
    assert "beta must be in (0, 1] for rbp" in found.failures[0].failure


def test_a_baseline_that_cannot_be_run_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(count: int, policy: Any) -> None:
        raise ValueError("not today")

    counting(monkeypatch, refuse)
    with pytest.raises(ValueError, match="the baseline, LinUCB, cannot be run: not today"):
        searched(tmp_path)


def test_trouble_ends_it_with_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(count: int, policy: Any) -> None:
        if count == 6:
            raise OSError(28, "No space left on device")

    counting(monkeypatch, fill)
    found = searched(tmp_path)
    assert not found.complete
    assert "No space left" in found.trouble
    assert len(found.trials) == 1


def test_no_trial_keeps_to_a_bound_that_cannot_be_kept(folder: Path) -> None:
    found = searched(folder, LOOSE.replace(">= -20%", ">= 900%"), trials=3)
    assert found.best is None
    assert found.ranking[0].means["clicks"] == max(t.means["clicks"] for t in found.trials)


def test_bounds_guide_the_search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fairness is alpha itself and clicks fall with it: without a bound the search goes to 1, with
    one at 0.4 it stays around there."""

    def answer(
        runner: Any, number: int, values: Mapping[str, Any], baseline: Mapping[str, float]
    ) -> Trial:
        means = {"equality_p": values["alpha"], "clicks": 1.0 - values["alpha"]}
        excesses = tuple(b.excess(means["clicks"], 1.0) for b in runner.search.bounds)
        return Trial(number=number, values=values, means=means, excesses=excesses)

    monkeypatch.setattr(tuning._Runner, "trial", answer)
    monkeypatch.setattr(tuning._Runner, "baseline", lambda _: {"clicks": 1.0, "equality_p": 0.0})
    text = LOOSE[: LOOSE.index("gamma =")] + "alpha = {low = 0.0, high = 1.0}\n"
    middles = []
    for bound in ("[]", '"clicks >= -40%"'):
        search = Search.of(Spec.parse(text.replace('"clicks >= -20%"', bound)), trials=60)
        found = tune(search, "", SOURCES, Results(tmp_path))
        middles.append(statistics.median(trial.values["alpha"] for trial in found.trials[30:]))
    assert middles[0] > 0.8
    assert middles[1] == pytest.approx(0.4, abs=0.1)
    assert found.best is not None
    assert 0.35 < found.best.values["alpha"] <= 0.4


def test_progress_is_over_all_trials_that_are_left(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []

    def tell(what: str, share: float) -> None:
        told.append((what, share))

    searched(tmp_path, trials=2, progress=tell)
    assert [what for what, _ in told][:1] == ["LinUCB"]
    assert told[-1][0] == "trial 2 of 2"
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[-1][1] == pytest.approx(1.0, abs=0.2)
    told.clear()
    searched(tmp_path, trials=4, progress=tell)  # two are there
    assert told[0][0] == "trial 3 of 4"
    assert told[0][1] < 0.5


def test_the_comparison_is_on_the_seeds_of_the_spec(undisturbed: Tuned, folder: Path) -> None:
    best = undisturbed.best
    assert best is not None
    spec = comparison_of(undisturbed, best)
    lines = spec.lines()
    label = label_of(spec, undisturbed, best)
    assert len(lines) == 3
    assert lines[0][0] == "LinUCB"
    assert (spec.seeds, spec.rounds) == ((1, 2), 30)
    assert label == lines[2][0]
    assert lines[2][1].alpha == best.values["alpha"]
    cells = spec.cells(RATINGS.fingerprint)
    results = Results(folder)
    assert verdicts(Study(spec, tuple(cells), results), label, undisturbed) == []
    assert run_cells(cells, SOURCES, results).complete
    (verdict,) = verdicts(Study(spec, tuple(cells), results), label, undisturbed)
    assert verdict.seeds == 2
    assert verdict.interval.low <= verdict.measured <= verdict.interval.high


def test_the_comparison_is_a_spec_file_of_the_same_cells(
    undisturbed: Tuned, tmp_path: Path
) -> None:
    best = undisturbed.best
    assert best is not None
    spec = comparison_of(undisturbed, best)
    path = write_comparison(spec, undisturbed, best, tmp_path)
    again = Spec.load(path)
    assert [c.key for c in again.cells("data")] == [c.key for c in spec.cells("data")]
    assert again.document() == spec.document()
    assert path.read_text().startswith("# Found by `faircascade tune spec`: most equality_p")


def test_policies_that_are_the_same_are_compared_once(undisturbed: Tuned) -> None:
    written = undisturbed.trials[0]
    spec = comparison_of(undisturbed, written)
    assert [line[0] for line in spec.lines()] == ["LinUCB", "EALinUCB log"]
    assert label_of(spec, undisturbed, written) == "EALinUCB log"


def test_the_baseline_itself_can_be_tuned(tmp_path: Path) -> None:
    text = LOOSE[: LOOSE.index("gamma =")].replace('policy = "ealinucb"', 'policy = "linucb"')
    found = searched(tmp_path, text + "alpha = {low = 0.0, high = 1.0}\n", trials=3)
    assert found.trials[0].means == found.baseline
    spec = comparison_of(found, found.trials[2])
    alpha = found.trials[2].values["alpha"]
    assert [line[0] for line in spec.lines()] == ["LinUCB (alpha=0.25)", f"LinUCB (alpha={alpha})"]
    assert label_of(spec, found, found.trials[2]) == f"LinUCB (alpha={alpha})"


def test_the_comparison_needs_nothing_of_policies_that_are_not_in_it(folder: Path) -> None:
    """[every_policy] has a value that only the third policy takes, and the baseline is a grid's."""
    shared = "[every_policy]\npatience = 0.8\nsigma = 2.0\n\n[[policies]]"
    text = 'baseline = "LinUCB (alpha=0.5)"\n' + LOOSE.replace("[[policies]]", shared, 1)
    text = text.replace("alpha = 0.25", "alpha.grid = [0.25, 0.5]")
    text = text.replace("[tune]", '[[policies]]\nname = "earslinucb"\n\n[tune]')
    found = searched(folder, text, trials=2)
    spec = comparison_of(found, found.trials[1])
    spec.check()
    assert spec.lines()[0][1].alpha == 0.5
    assert [policy.sigma for _, policy, _ in spec.lines()] == [2.0] * 3


def test_files_are_found_from_wherever_the_comparison_is(
    undisturbed: Tuned, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text("user,item,rating\n1,2,5\n")
    found = replace(
        undisturbed,
        search=replace(
            undisturbed.search,
            spec=replace(undisturbed.search.spec, data={"name": "mine.csv"}, folder=tmp_path),
        ),
    )
    spec = comparison_of(found, found.trials[0])
    path = write_comparison(spec, found, found.trials[0], tmp_path / "deep" / "inside")
    assert tomllib.loads(path.read_text())["data"]["name"] == str(tmp_path / "mine.csv")
    Spec.load(path)


def test_policies_with_fewer_rounds_are_searched_with_those(tmp_path: Path) -> None:
    found = searched(
        tmp_path, LOOSE.replace('weight = "log"', 'weight = "log"\nrounds = 20'), trials=2
    )
    assert found.search.rounds == 20
    assert [line[2] for line in comparison_of(found, found.trials[1]).lines()] == [30, 20, 20]


def test_trials_are_a_table_with_a_row_for_each(undisturbed: Tuned, tmp_path: Path) -> None:
    paths = write_trials(undisturbed, tmp_path)
    for table in (pq.read_table(paths[0]), csv.read_csv(paths[1])):
        assert table.num_rows == TRIALS
        assert table.column_names == [
            *("number", "weight", "gamma", "alpha", "beta", "value", "clicks >= -20%"),
            *("feasible", "failure", "cells"),
        ]
        assert table["value"][0].as_py() == undisturbed.trials[0].means["equality_p"]
        assert table["beta"][0].as_py() is None
        assert table["cells"][0].as_py() == " ".join(undisturbed.trials[0].cells)
    columns = trial_columns(undisturbed)
    met = [change >= -20 for change in columns["clicks >= -20%"]]
    assert columns["feasible"] == met


def test_a_failed_trial_has_a_row_without_numbers(undisturbed: Tuned, tmp_path: Path) -> None:
    failed = Trial(number=1, values={"weight": [1, 2, 3]}, failure="no")
    found = replace(undisturbed, trials=(failed, undisturbed.trials[1]))
    table = pq.read_table(write_trials(found, tmp_path)[0])
    assert table["value"][0].as_py() is None
    assert table["clicks >= -20%"][0].as_py() is None
    assert table["weight"].to_pylist() == ["[1, 2, 3]", undisturbed.trials[1].values["weight"]]
    assert table["failure"].to_pylist() == ["no", ""]


def test_optuna_keeps_its_remarks_to_itself(
    folder: Path, undisturbed: Tuned, capfd: pytest.CaptureFixture[str]
) -> None:
    import optuna

    before = optuna.logging.get_verbosity()
    searched(folder, trials=2)
    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == before


def test_without_optuna_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ValueError, match=re.escape(install_command("tune"))):
        proposals.require_optuna()
