"""States that are arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Rows


@dataclass(kw_only=True, eq=False)
class ArrayState:
    """A state whose fields are arrays, by which it is stored."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the state that `arrays` described; it may hold others besides."""
        return cls(**{f.name: arrays[f.name] for f in fields(cls)})


@dataclass(kw_only=True, eq=False)
class UserArrays(ArrayState):
    """Arrays whose last axis is the user, so that arithmetic vectorises over users."""

    def take(self, rows: Rows) -> Self:
        """Return a copy of some users."""
        return type(self)(**{name: a[..., rows].copy() for name, a in self.arrays().items()})

    @classmethod
    def join(cls, states: Sequence[Self]) -> Self:
        """Return one state for the users of several, in their order."""
        parts = [state.arrays() for state in states]
        return cls(**{n: np.concatenate([part[n] for part in parts], -1) for n in parts[0]})
