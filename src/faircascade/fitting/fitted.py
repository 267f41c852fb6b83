"""A fitted click model: its parameters, what they rest on, and how well it predicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.data.base import DataError
from faircascade.errors import ParameterError, one_of
from faircascade.fitting.scores import Difference, Scores, plain
from faircascade.registry import from_spec, to_spec
from faircascade.storage import replacing
from faircascade.types import Floats, Ids, Ints

FORMAT = "faircascade click model"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A click model that was tried."""

    name: str
    scores: Scores | None = None
    behind: Difference | None = None
    """Its held-out log-likelihood less that of the best; None for the best itself."""
    refused: str = ""
    """Why it could not be fitted; empty if it could."""
    iterations: int = 0
    converged: bool = True

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        scores = None if self.scores is None else self.scores.document()
        behind = (
            None if self.behind is None else {n: plain(v) for n, v in vars(self.behind).items()}
        )
        return {
            "model": self.name,
            "refused": self.refused or None,
            "iterations": self.iterations,
            "converged": self.converged,
            "held_out": scores,
            "difference_to_best": behind,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedClickModel:
    """A click model with the attraction of items, fitted to a log."""

    name: str
    """What was fitted: a click model, or `sdbn`."""
    click_model: ClickModel
    """Ready for an environment whose items are `item_ids`, in this order; where there are contexts,
    that of `for_context(...)` is."""
    item_ids: Ids
    """The item of each entry, (m,)."""
    context_ids: Ids | None
    """Its context, (m,); None if attraction is by item alone."""
    attraction: Floats
    """(m,)"""
    impressions: Ints
    """Positions at which the item was shown, (m,)."""
    clicks: Ints
    total: int
    """Impressions of the log."""
    k: int
    """The longest slate."""
    entry_parameters: tuple[str, ...] = ()
    """Parameters of the click model that have a value for each entry."""
    scores: Scores | None = None
    """On impressions that were held out; parameters are then fitted again to all."""
    errors: Mapping[str, Any] = field(default_factory=dict)
    """Standard errors of the click model's parameters, where they are known."""
    iterations: int = 0
    converged: bool = True
    objectives: tuple[float, ...] = ()
    """Log-likelihood of the impressions and the prior after each accepted EM step."""
    prior: str = ""
    """What was taken to be known before."""
    candidates: tuple[Candidate, ...] = ()
    """All models that were tried, the best first."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        of = (
            "" if self.context_ids is None else f" in {len(np.unique(self.context_ids)):,} contexts"
        )
        return (
            f"FittedClickModel({self.name}: {len(np.unique(self.item_ids)):,} items{of}, "
            f"{self.total:,} impressions)"
        )

    @property
    def contexts(self) -> list[Any]:
        """The contexts, in the order in which they appeared; empty if there are none."""
        return [] if self.context_ids is None else list(dict.fromkeys(self.context_ids.tolist()))

    def attraction_of(self, item: Any, context: Any = None) -> float:
        """Return the attraction of an item (in a context)."""
        chosen = self._rows(context)
        here = chosen[_as_text(self.item_ids[chosen]) == str(item)]
        if not len(here):
            raise ParameterError("item", "must be an item of the log", item)
        return float(self.attraction[here[0]])

    def by_item(self, context: Any = None) -> dict[Any, float]:
        """Return attraction by item id (of a context)."""
        rows = self._rows(context)
        return dict(zip(self.item_ids[rows].tolist(), self.attraction[rows].tolist(), strict=True))

    def for_context(self, context: Any) -> FittedClickModel:
        """Return the part that is about one context, as if there were no other."""
        rows = self._rows(context)
        own = {
            name: tuple(np.array(getattr(self.click_model, name))[rows].tolist())
            for name in self.entry_parameters
        }
        return replace(
            self,
            click_model=replace(self.click_model, **own),  # type: ignore[type-var]
            item_ids=self.item_ids[rows],
            context_ids=None,
            attraction=self.attraction[rows],
            impressions=self.impressions[rows],
            clicks=self.clicks[rows],
        )

    def _rows(self, context: Any) -> Ints:
        if self.context_ids is None:
            if context is not None:
                raise ParameterError("context", "must be left out: there are none", context)
            return np.arange(len(self.attraction))
        if context is None:
            raise ParameterError("context", "must be given, as attraction is by context", context)
        rows = np.flatnonzero(_as_text(self.context_ids) == str(context))
        if not len(rows):
            known = [str(each) for each in self.contexts]
            raise ParameterError(
                "context", f"must be {one_of(known[:1000], str(context))}", context
            )
        return rows

    @property
    def best(self) -> str:
        """Say in a sentence which model predicts best, and whether that is sure."""
        return choice_words(self.candidates)

    def document(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.name,
            "click_model": to_spec(self.click_model),
            "entry_parameters": list(self.entry_parameters),
            "k": self.k,
            "impressions": self.total,
            "prior": self.prior,
            "iterations": self.iterations,
            "converged": self.converged,
            "errors": {name: plain(_arrays(value)) for name, value in self.errors.items()},
            "notes": list(self.notes),
            "choice": self.best,
            "candidates": [candidate.document() for candidate in self.candidates],
            "entries": {
                "item": self.item_ids.tolist(),
                **({} if self.context_ids is None else {"context": self.context_ids.tolist()}),
                "attraction": self.attraction.tolist(),
                "impressions": self.impressions.tolist(),
                "clicks": self.clicks.tolist(),
            },
        }

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(self.document()) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> FittedClickModel:
        """Read what `save` wrote: parameters and what they rest on, without the scores."""
        file = Path(path).expanduser()
        try:
            found = json.loads(file.read_bytes())
            if found["format"] != FORMAT or found["version"] != VERSION:
                raise ValueError(f"version {found['version']} of {found['format']}")
            entries = found["entries"]
            return cls(
                name=found["model"],
                click_model=from_spec(ClickModel.kind, found["click_model"]),
                item_ids=np.array(entries["item"]),
                context_ids=np.array(entries["context"]) if "context" in entries else None,
                attraction=np.array(entries["attraction"], dtype=np.float64),
                impressions=np.array(entries["impressions"], dtype=np.int64),
                clicks=np.array(entries["clicks"], dtype=np.int64),
                total=found["impressions"],
                k=found["k"],
                entry_parameters=tuple(found["entry_parameters"]),
                errors=found["errors"],
                iterations=found["iterations"],
                converged=found["converged"],
                prior=found["prior"],
                notes=tuple(found["notes"]),
            )
        except FileNotFoundError:
            raise DataError(f"{file}: there is no such file") from None
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{file}: must be a saved click model, got {error}") from None


def _as_text(ids: Ids) -> Ids:
    return ids.astype(str)


def _arrays(value: Any) -> Any:
    return [plain(np.array(row)) for row in value] if isinstance(value, tuple) else value


def choice_words(candidates: Sequence[Candidate]) -> str:
    """Say in a sentence which model predicts best, and whether that is sure."""
    tried = [c for c in candidates if not c.refused and c.scores is not None]
    if not tried:
        return f"{candidates[0].name} was fitted; nothing was held out to compare by."
    best = tried[0].scores
    if best is not None and best.log_likelihood == -np.inf:
        return (
            "No model can be called the best: each takes for impossible what happened in held-out "
            "impressions; give more smoothing."
        )
    text = f"{tried[0].name} predicts held-out clicks best"
    if len(tried) == 1:
        return (
            f"{text}: no other model could be fitted."
            if len(candidates) > 1
            else (f"{tried[0].name} was the only model asked for.")
        )
    close = [c.name for c in tried[1:] if c.behind is not None and not c.behind.is_clear]
    if close:
        return f"{text}, but not clearly better than {', '.join(close)}."
    gap = tried[1].behind
    assert gap is not None
    if not np.isfinite(gap.mean):
        return f"{text}, clearly: the others take for impossible what happened."
    return (
        f"{text}, clearly: {tried[1].name} comes next, {-gap.mean:.4g} (95% interval "
        f"{-gap.high:.4g} to {-gap.low:.4g}) lower in log-likelihood per impression."
    )
