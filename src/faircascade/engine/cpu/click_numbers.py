"""The click model of an environment as arrays of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.cpu.records import ClickNumbers
from faircascade.environment import Environment

CASCADE = 0
"""What `ClickNumbers.model` is for a click model that gives no numbers."""


def click_numbers(env: Environment) -> ClickNumbers:
    """Return the numbers of a click model, those that it does not have filled in."""
    k, items = env.k, len(env.items)
    shapes: dict[str, tuple[int, ...]] = {
        "clicked": (k,),
        "gain": (k,),
        "kept": (items,),
        "worth": (items,),
        "examination": (k, k),
    }
    given: dict[str, Any] = {"model": CASCADE, "ignored": 1.0, "slope": 0.0}
    given |= {**dict.fromkeys(shapes, 1.0), **env.click_model.kernel_for(k)}
    for name, shape in shapes.items():  # copies: kernels are compiled for arrays of one layout
        given[name] = np.array(np.broadcast_to(given[name], shape), order="C")
    for name in ("kept", "worth"):
        given[name] = given[name][env.items.pool.rows]
    return ClickNumbers(**given)
