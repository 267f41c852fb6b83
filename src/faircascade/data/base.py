"""The table of ratings that every data set becomes, and the contract of a data set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.data.scale import Feedback, Scale
from faircascade.registry import Component
from faircascade.storage import fingerprint

Progress = Callable[[str, int, int], None]
"""Called as `progress(what, done, total)` while data is fetched or read; total 0 is unknown."""


class DataError(ValueError):
    """Data that cannot be used: the message names the file, the place and the rule.

    Options that may help are written as in Python (`sep=`, `missing='drop'`, `path=FILE`); the
    command line shows them as they are typed there.
    """


class MissingValueError(DataError):
    """A value that is not there, where one must be."""


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """Ratings of items by users, one row each, with ids coded as 0-based rows of id tables."""

    name: str
    user_ids: NDArray[Any]
    """Distinct user ids in ascending order, integers or strings, (n_users,)."""
    item_ids: NDArray[Any]
    """Distinct item ids in ascending order, integers or strings, (n_items,)."""
    users: NDArray[np.int32]
    """Row in `user_ids` of each rating, (n,)."""
    items: NDArray[np.int32]
    """Row in `item_ids` of each rating, (n,)."""
    ratings: NDArray[np.float32]
    """The rating itself, (n,); a count, or 1, if `feedback` is not explicit."""
    feedback: Feedback = "explicit"
    """What a rating is: given by the user, an interaction, or how many of them there were."""
    bounds: tuple[float, float] | None = None
    """The ends of the scale where the data set knows them; None takes those seen."""
    item_groups: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    """Columns such as genre or supplier, (n_items,); several memberships are joined by `|`."""
    item_merit: NDArray[np.float64] | None = None
    """Merit given with the data, (n_items,), or None to derive it."""
    notes: tuple[str, ...] = ()
    """What a user should know about how the data was read (duplicates, checksum, ...)."""

    def __post_init__(self) -> None:
        if len(self.ratings) == 0:
            raise DataError(f"{self.name}: no ratings")
        if not len(self.users) == len(self.items) == len(self.ratings):
            raise DataError(f"{self.name}: users, items and ratings must be equally long")
        for what, rows, n in (
            ("users", self.users, self.n_users),
            ("items", self.items, self.n_items),
        ):
            if not 0 <= rows.min() <= rows.max() < n:
                raise DataError(f"{self.name}: {what} must be rows from 0 to {n - 1}")

    @property
    def n_users(self) -> int:
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    def __len__(self) -> int:
        return len(self.ratings)

    @cached_property
    def scale(self) -> Scale | None:
        """The scale of explicit ratings; None for the others."""
        return Scale.of(self.ratings, self.bounds) if self.feedback == "explicit" else None

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the contents: equal ratings have equal fingerprints."""
        known: dict[str, NDArray[Any]] = {}
        if self.item_merit is not None:
            known["merit"] = self.item_merit
        for name, column in self.item_groups.items():
            known[f"group/{name}"] = np.asarray(column, dtype=np.str_)
        columns = {
            "user_ids": self.user_ids,
            "item_ids": self.item_ids,
            "users": self.users,
            "items": self.items,
            "ratings": self.ratings,
        }
        return fingerprint({**columns, **known}, {"feedback": self.feedback, "bounds": self.bounds})

    def __repr__(self) -> str:
        return (
            f"Ratings({self.name!r}: {len(self):,} ratings of {self.n_items:,} items "
            f"by {self.n_users:,} users)"
        )


class Dataset(Component):
    """A named source of ratings: a frozen dataclass of its options."""

    kind: ClassVar[str] = "data"
    summary: ClassVar[str] = ""
    """One line for `faircascade data list`."""
    licence: ClassVar[str] = ""
    """Terms a user must know, one line."""
    needs_path: ClassVar[bool] = False
    """True if the data cannot be generated or downloaded."""

    @abstractmethod
    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Read (or generate, or download) the ratings; `path` overrides the download."""

    def here(self) -> bool:
        """Tell whether `load` works without a path and without a download."""
        return not self.needs_path

    def fetch(self, progress: Progress | None = None) -> Path | None:
        """Download what `load` needs; return where it lies, or None if nothing is needed."""
        return None
