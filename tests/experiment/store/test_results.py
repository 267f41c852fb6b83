"""Cells: run once, written whole, read back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faircascade.data.load import load_dataset
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.experiment.cell_result import CellOutput
from faircascade.experiment.running import run_cell, runner
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.locks import claimed
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from faircascade.experiment.study_results import items_words
from faircascade.metrics.exposure import evenness
from faircascade.storage import draft_of
from tests.experiment.specs import TINY

RATINGS = load_dataset("synthetic", users=20, items=60)
SOURCES = Sources({RATINGS.fingerprint: RATINGS})
SPEC = Spec.parse(TINY)
CELLS = SPEC.cells(RATINGS.fingerprint)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Results:
    results = Results(tmp_path_factory.mktemp("run"))
    assert runner.run_cells(CELLS, SOURCES, results).complete
    return results


def test_a_cell_holds_what_simulate_returns(finished: Results) -> None:
    cell = CELLS[3]
    env = Environment.from_ratings(RATINGS, dim=4, k=3, seed=cell.seed)
    result = simulate(env, cell.policy, rounds=30, seed=cell.seed, checkpoints=cell.checkpoints)
    found = finished.find(cell)
    assert found is not None
    assert {name: found.value(name) for name in ("clicks", "regret", "equity_p")} == {
        name: result.metrics[name] for name in ("clicks", "regret", "equity_p")
    }
    for name, column in result.curves.items():
        assert np.array_equal(found.curves[name], column, equal_nan=True), name
    assert found.items["clicks"].sum() == result.record.clicks
    assert found.about["fingerprint"] == env.fingerprint
    assert found.about["settings"] == cell.settings


def test_a_value_can_be_asked_for_at_a_checkpoint(finished: Results) -> None:
    found = finished.find(CELLS[0])
    assert found is not None
    at = list(found.curves["round"]).index(10)
    assert found.value("clicks", 10) == found.curves["clicks"][at]
    assert found.value("clicks", 30) == found.value("clicks")
    with pytest.raises(ValueError, match="rounds must be a checkpoint"):
        found.value("clicks", 11)


def test_clicks_of_intervals_add_up_to_all_clicks(finished: Results) -> None:
    found = finished.find(CELLS[0])
    assert found is not None
    lengths = np.diff(found.curves["round"], prepend=0)
    total = (found.curves["interval_clicks"] * lengths).sum() / lengths.sum()
    assert total == pytest.approx(found.value("clicks"))


def test_what_is_finished_is_not_run_again(
    finished: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_cell, "simulate", None)  # would fail if it were called
    assert runner.run_cells(CELLS, SOURCES, finished).complete


def test_a_larger_grid_only_adds(finished: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(
        run_cell, "simulate", lambda env, policy, **o: ran.append(policy.alpha) or simulate(
            env, policy, **o
        )
    )  # fmt: skip
    larger = Spec.parse(TINY.replace("[0.25, 1.0]", "[0.25, 1.0, 2.0]"))
    assert runner.run_cells(larger.cells(RATINGS.fingerprint), SOURCES, finished).complete
    assert ran == [2.0] * 4


@pytest.mark.parametrize("where", ["between", "inside"])
def test_ctrl_c_keeps_what_was_finished_and_the_rest_comes_later(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results(tmp_path)
    calls = 0

    def pressed(env, policy, **options):
        nonlocal calls
        calls += 1
        if calls < 3:
            return simulate(env, policy, **options)
        if where == "between":
            raise KeyboardInterrupt
        short = {**options, "rounds": 5, "checkpoints": [5]}
        result = simulate(env, policy, **short)
        object.__setattr__(result, "interrupted", True)
        return result

    monkeypatch.setattr(run_cell, "simulate", pressed)
    assert not runner.run_cells(CELLS[:5], SOURCES, results).complete
    assert [results.find(cell) is not None for cell in CELLS[:5]] == [True, True, *[False] * 3]
    monkeypatch.setattr(run_cell, "simulate", simulate)
    assert runner.run_cells(CELLS[:5], SOURCES, results).complete
    assert Study(SPEC, tuple(CELLS[:5]), results).missing == 0


def test_a_crash_while_writing_leaves_nothing_that_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faircascade.experiment.store import results as module

    results = Results(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_json", full)
        ended = runner.run_cells(CELLS[:1], SOURCES, results)
    assert not ended.complete
    assert "No space left" in ended.trouble
    assert results.find(CELLS[0]) is None
    assert list((tmp_path / "cells").iterdir()) == []
    assert runner.run_cells(CELLS[:1], SOURCES, results).complete


def test_what_a_killed_runner_left_of_a_finished_cell_is_removed(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert runner.run_cells(CELLS[:2], SOURCES, results).complete
    done, held = (results.underway(cell) for cell in CELLS[:2])
    for place in (done, done.with_name(f"{done.name}.lock"), draft_of(done), held):
        place.touch()
    with claimed(held):  # another runner has just written it
        assert runner.run_cells(CELLS[:2], SOURCES, Results(tmp_path)).complete
        assert {path.name for path in done.parent.iterdir()} == {held.name, f"{held.name}.lock"}
    assert runner.run_cells(CELLS[:2], SOURCES, Results(tmp_path)).complete
    assert list(done.parent.iterdir()) == []


def test_two_runners_may_finish_the_same_cell(tmp_path: Path) -> None:
    results = Results(tmp_path)
    cell = CELLS[0]
    env = Environment.from_ratings(RATINGS, dim=4, k=3, seed=cell.seed)
    result = simulate(env, cell.policy, rounds=30, seed=1, checkpoints=cell.checkpoints)
    product = CellOutput.of(cell, result)
    first = results.add(cell, product).value("clicks")
    assert results.add(cell, product).value("clicks") == first
    assert len(list((tmp_path / "cells").iterdir())) == 1


def test_a_study_pairs_seeds_and_takes_the_baseline_when_the_shorter_run_ended(
    finished: Results,
) -> None:
    study = Study(SPEC, tuple(CELLS), finished)
    assert study.missing == 0
    small, large = study.environments
    assert small.data == {"name": "synthetic", "users": 20, "items": 60}
    assert (small.given["k"], large.given["k"]) == (3, 5)
    assert small.baseline == "LinUCB (alpha=0.25)"
    assert small.seeds("Random") == (1, 2)
    own, other = small.paired("Random", "clicks")
    assert np.array_equal(own, small.values("Random", "clicks"))
    assert np.array_equal(other, small.values(small.baseline, "clicks", 10))


def test_a_half_finished_study_has_what_there_is(finished: Results, tmp_path: Path) -> None:
    some = Results(tmp_path)
    for cell in CELLS[:7]:  # the first seed, and the baseline of the second
        found = finished.find(cell)
        assert found is not None
        place = tmp_path / "cells" / cell.key
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(found.folder)
    study = Study(SPEC, tuple(CELLS), some)
    assert study.missing == len(CELLS) - 7
    environment, empty = study.environments
    assert environment.seeds(environment.baseline) == (1, 2)
    assert len(environment.paired("EALinUCB log", "clicks")[0]) == 1
    matched, nothing = study.matched  # side by side only over the seeds that all of them have
    assert {matched.seeds(label) for label in matched.runs} == {(1,)}
    assert environment.common([environment.baseline]).seeds(environment.baseline) == (1, 2)
    assert nothing.runs == empty.runs
    assert empty.rounds(empty.baseline) == 0
    assert len(empty.values("Random", "clicks")) == 0


@pytest.mark.parametrize("file", ["cell.json", "curves.parquet", "items.parquet"])
@pytest.mark.parametrize("damage", ["cut", "emptied", "removed"])
def test_a_damaged_cell_is_computed_again(file: str, damage: str, tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert runner.run_cells(CELLS[:1], SOURCES, results).complete
    place = tmp_path / "cells" / CELLS[0].key / file
    whole = (tmp_path / "cells" / CELLS[0].key / "curves.parquet").read_bytes()
    if damage == "removed":
        place.unlink()
    else:
        place.write_bytes(place.read_bytes()[: 40 if damage == "cut" else 0])
    again = Results(tmp_path)  # as a later command sees it
    assert again.find(CELLS[0]) is None
    assert runner.run_cells(CELLS[:1], SOURCES, again).complete
    assert again.find(CELLS[0]) is not None
    assert (tmp_path / "cells" / CELLS[0].key / "curves.parquet").read_bytes() == whole


def test_a_cell_that_cannot_be_run_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    spec = Spec.parse(TINY.replace("k.grid = [3, 5]", "k.grid = [3, 500]").replace(
        ', [1, 2, 3, 4, 5]', ""
    ))  # fmt: skip
    cells = spec.cells(RATINGS.fingerprint)
    ended = runner.run_cells(cells, SOURCES, Results(tmp_path))
    assert ended.complete
    assert len(ended.failures) == 2 * 5
    assert all("k must be at most" in reason for reason in ended.failures.values())
    assert Study(spec, tuple(cells), Results(tmp_path)).missing == 2 * 5


def test_another_runner_s_cell_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def both(env, policy, **options):
        ran.append(policy)
        if len(ran) == 1:  # while this one runs, another runner finishes the next
            other = simulate(env, CELLS[1].policy, **options | {"snapshot": None})
            Results(tmp_path).add(CELLS[1], CellOutput.of(CELLS[1], other))
        return simulate(env, policy, **options)

    monkeypatch.setattr(run_cell, "simulate", both)
    assert runner.run_cells(CELLS[:3], SOURCES, Results(tmp_path)).complete
    assert ran == [CELLS[0].policy, CELLS[2].policy]


@pytest.mark.parametrize(
    ("mark", "change", "pairs"),
    [
        ("fingerprint", "another", 2),  # two machines need not agree on the last bit
        ("optimal_value", 1 + 1e-14, 2),
        ("optimal_value", 1 + 1e-6, 1),
        ("largest_preference", 1 + 1e-6, 1),
    ],
)
def test_runs_in_environments_that_differ_by_more_than_rounding_are_no_pair(
    finished: Results, mark: str, change: float | str, pairs: int
) -> None:
    environment = Study(SPEC, tuple(CELLS), Results(finished.folder)).environments[0]
    assert len(environment.paired("EALinUCB log", "clicks")[0]) == 2
    about = environment.runs["EALinUCB log"][0].about
    about[mark] = change if isinstance(change, str) else about[mark] * change
    assert len(environment.paired("EALinUCB log", "clicks")[0]) == pairs


def test_cells_keep_what_both_ways_of_measuring_need(finished: Results) -> None:
    study = Study(SPEC, tuple(CELLS), Results(finished.folder))
    eligible = study.measured("eligible")
    for before, after in zip(study.environments, eligible.environments, strict=True):
        for label, runs in before.runs.items():
            for one, other in zip(runs, after.runs[label], strict=True):
                kept = one.items["eligible"]
                assert one.eligible == kept.sum() < one.about["items"] == len(kept)
                for notion in "bp":
                    own = evenness(one.items[f"exposure_{notion}"][kept])
                    assert other.value(f"equality_{notion}") == pytest.approx(own)
                    assert other.curves[f"equality_{notion}"][-1] == pytest.approx(own)
                assert other.value("clicks") == one.value("clicks")
                assert (one.key, one.seed) == (other.key, other.seed)
    assert study.measured("eligible").measured("catalogue").over == "catalogue"


def test_cells_that_do_not_say_what_is_eligible_are_measured_over_the_catalogue_alone(
    finished: Results,
) -> None:
    study = Study(SPEC, tuple(CELLS), Results(finished.folder))
    environment = study.environments[0]
    for runs in environment.runs.values():
        for run in runs:
            for name in ("eligible", "yardsticks"):
                del run.about[name]
    assert environment.yardsticks == {}
    assert environment.ineligible == 0
    assert items_words([environment], "catalogue").startswith("Fairness over all ")
    with pytest.raises(ValueError, match="over must be catalogue for runs of a release that"):
        environment.over("eligible")


def test_a_folder_in_an_earlier_format_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"version": 1, "specs": {}}')
    with pytest.raises(ValueError, match="format 1, this release uses format") as error:
        runner.run_experiment(SPEC.document(), tmp_path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "cells").exists()
