"""Searching the parameters of a policy: cells of the store answer what is proposed.

A sampler has a seed, so that the same answers lead to the same questions. A search that was
stopped asks again what it asked before, finds the answers in the store, and goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from faircascade.experiment.cell import Cell
from faircascade.experiment.running.executors import Executor
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.results import Results
from faircascade.experiment.tuning.bounds import total_excess
from faircascade.experiment.tuning.candidates import entry_of
from faircascade.experiment.tuning.proposals import proposals_of
from faircascade.experiment.tuning.search import Search, baseline_of
from faircascade.experiment.tuning.trial import Trial
from faircascade.progress import Report


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuned:
    """What a search has found, whether or not it came to its end."""

    search: Search
    baseline: Mapping[str, float]
    """Means of the baseline over the seeds of the search."""
    trials: tuple[Trial, ...]
    complete: bool
    """False if Ctrl-C, or trouble, came before the last trial."""
    trouble: str = ""
    """What ended it, if not Ctrl-C: a full disk, say."""

    @cached_property
    def ranking(self) -> tuple[Trial, ...]:
        """Trials that were run: those that keep to the bounds, the best first, then the nearest."""
        sign = -1 if self.search.maximize else 1
        return tuple(
            sorted(
                (trial for trial in self.trials if not trial.failure),
                key=lambda t: (total_excess(t.excesses), sign * t.means[self.search.metric]),
            )
        )

    @property
    def best(self) -> Trial | None:
        """The best trial that keeps to all bounds, if there is one."""
        return next((trial for trial in self.ranking if trial.is_feasible), None)

    @property
    def failures(self) -> tuple[Trial, ...]:
        """Trials that could not be run."""
        return tuple(trial for trial in self.trials if trial.failure)


class _StoppedError(Exception):
    """Ctrl-C came, or trouble, which is then the message."""


class _ImpossibleError(Exception):
    """A policy that cannot be run, and why."""


def tune(
    search: Search,
    fingerprint: str,
    sources: Sources,
    results: Results,
    *,
    executor: Executor | None = None,
    progress: Report | None = None,
    say: Callable[[str], None] | None = None,
) -> Tuned:
    """Search; `fingerprint` is that of the ratings.

    A trial that cannot be run is noted, and the search goes on. Ctrl-C ends it with what is
    finished; the same call goes on from there.
    """
    runner = _Runner(search, fingerprint, sources, results, executor, progress, say)
    baseline: dict[str, float] = {}
    trials: list[Trial] = []
    trouble, complete = "", False
    try:
        baseline = runner.baseline()
        with proposals_of(search) as proposals:
            while len(trials) < search.trials and (values := proposals.next()) is not None:
                trials.append(runner.trial(len(trials) + 1, values, baseline))
                proposals.tell(trials[-1])
        complete = True
    except KeyboardInterrupt:
        pass
    except _StoppedError as stopped:
        trouble = str(stopped)
    return Tuned(
        search=search,
        baseline=baseline,
        trials=tuple(trials),
        complete=complete,
        trouble=trouble,
    )


@dataclass
class _Runner:
    """Runs policies on the seeds of a search, and says how far it is."""

    search: Search
    fingerprint: str
    sources: Sources
    results: Results
    executor: Executor | None
    progress: Report | None
    say: Callable[[str], None] | None
    _begun: int | None = None
    """The first turn that had something to run; those before found it in the store."""

    def baseline(self) -> dict[str, float]:
        """Run the baseline, which has the first turn; return its means."""
        label, policy, _ = baseline_of(self.search.spec)
        cells = self.search.cells(entry_of(policy), self.fingerprint)
        try:
            return self._means(cells, turn=0, what=label)
        except _ImpossibleError as error:
            raise ValueError(f"the baseline, {label}, cannot be run: {error}") from None

    def trial(self, number: int, values: Mapping[str, Any], baseline: Mapping[str, float]) -> Trial:
        """Run the policy with some values of its parameters."""
        what = f"trial {number} of {self.search.trials}"
        try:
            cells = self._cells(values)
            means = self._means(cells, turn=number, what=what)
        except _ImpossibleError as error:
            return Trial(number=number, values=values, failure=str(error))
        return Trial(
            number=number,
            values=values,
            means=means,
            excesses=tuple(
                bound.excess(means[bound.metric], baseline[bound.metric])
                for bound in self.search.bounds
            ),
            cells=tuple(cell.key for cell in cells),
        )

    def _cells(self, values: Mapping[str, Any]) -> list[Cell]:
        try:
            return self.search.cells(self.search.candidates.entry(values), self.fingerprint)
        except (ValueError, TypeError) as error:  # values that do not go together
            raise _ImpossibleError(str(error)) from None

    def _means(self, cells: Sequence[Cell], *, turn: int, what: str) -> dict[str, float]:
        """Run cells; return the means over them of what matters."""
        if self._begun is None and any(self.results.find(cell) is None for cell in cells):
            self._begun = turn
        ended = run_cells(
            cells,
            self.sources,
            self.results,
            executor=self.executor,
            progress=self._part(turn, what),
            say=self.say,
        )
        if not ended.complete:
            raise _StoppedError(ended.trouble)
        runs = [self.results.find(cell) for cell in cells]
        finished = [run for run in runs if run is not None]
        if len(finished) < len(cells):
            raise _ImpossibleError(next(iter(ended.failures.values()), "a cell is missing"))
        means = {
            metric: math.fsum(run.value(metric) for run in finished) / len(finished)
            for metric in self.search.metrics
        }
        for metric, mean in means.items():
            if math.isnan(mean):
                raise _ImpossibleError(f"{metric} has no value for some seed")
        return means

    def _part(self, turn: int, what: str) -> Report | None:
        """Return the progress of a turn as one of all those that are left."""
        if self.progress is None or self._begun is None:
            return None
        tell, done, left = self.progress, turn - self._begun, self.search.trials + 1 - self._begun
        return lambda _, share: tell(what, (done + share) / left)
