"""Items side by side, as the catalogue takes them: no object for each of a million."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from faircascade.service.stores.attributes import Attributes
from faircascade.types import Bools, Floats

PAGE = 16_384
"""Items that are handed over at a time."""


class _Item(Protocol):
    """What is read of a `StoredItem`."""

    @property
    def id(self) -> str: ...
    @property
    def features(self) -> Floats: ...
    @property
    def merit(self) -> float: ...
    @property
    def popularity(self) -> float: ...
    @property
    def groups(self) -> Mapping[str, str]: ...
    @property
    def attributes(self) -> Attributes: ...
    @property
    def slot(self) -> int: ...
    @property
    def removed(self) -> bool: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemColumns:
    """Some items of a store, one row each; of a removed one only slot and id count."""

    slots: NDArray[np.int32]
    """(n,)."""
    ids: Sequence[str]
    features: Floats
    """Features, then topics, (n, d)."""
    merit: Floats
    popularity: Floats
    groups: Sequence[str | None]
    suppliers: Sequence[str | None]
    attributes: Sequence[Attributes]
    removed: Bools

    def __len__(self) -> int:
        return len(self.slots)

    @classmethod
    def of(cls, items: Sequence[_Item], dim: int) -> ItemColumns:
        """Lay out items that are described by `dim` numbers."""
        features = np.zeros((len(items), dim))
        for row, item in enumerate(items):
            if not item.removed:
                features[row] = item.features
        return cls(
            slots=np.array([item.slot for item in items], dtype=np.int32),
            ids=[item.id for item in items],
            features=features,
            merit=np.array([item.merit for item in items], dtype=np.float64),
            popularity=np.array([item.popularity for item in items], dtype=np.float64),
            groups=[item.groups.get("group") for item in items],
            suppliers=[item.groups.get("supplier") for item in items],
            attributes=[item.attributes for item in items],
            removed=np.array([item.removed for item in items], dtype=bool),
        )
