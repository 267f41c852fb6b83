"""The text of the kernel for one shape of problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import pi

from faircascade import random
from faircascade.clicks.sequential import SequentialModel
from faircascade.engine.cpu.click_numbers import CASCADE
from faircascade.engine.cpu.memory import SPARE, WIDER, set_sizes, up
from faircascade.engine.cpu.records import HALVINGS
from faircascade.engine.gpu.structs import bytes_of
from faircascade.metrics.tally import BY_ROUND, LARGEST, UNIT
from faircascade.numerics import AIM, LARGEST_RESIDUAL, RESIDUAL, ROUNDOFF
from faircascade.observations.base import FIRST_CLICK, LAST_CLICK
from faircascade.ranking import RESOLUTION

LANES = 32
"""Threads of a warp."""
MOST_DRAWN = 128
"""Items whose luck is worked out before it is cheaper to score all anew."""
AT_ONCE = 2
"""Items that a lane scores together, where all are."""
WARPS = 4
"""Warps of a block; they share nothing but a small table."""
ABSENT, IDEAL = -1, 1 << 15
"""What an outcome says besides the number of clicks: nobody came; a click on the optimal slate."""
PARTS = (
    "warp.cuh",
    "draws.cuh",
    "records.cuh",
    "scoring.cuh",
    "ranking.cuh",
    "shortlist.cuh",
    "learning.cuh",
    "observing.cuh",
    "reranking.cuh",
    "bandit.cu",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a kernel is compiled for: sizes whose loops the compiler unrolls."""

    d: int
    k: int
    sets: int
    """Sets of items between the front and all of them."""
    precision: str
    """`float64` or `float32`."""

    @classmethod
    def of(cls, *, d: int, k: int, items: int, precision: str) -> Shape:
        """Return the shape of a problem."""
        sets = len(set_sizes(up(k + SPARE, LANES), items))
        return cls(d=d, k=k, sets=sets, precision=precision)

    @property
    def front(self) -> int:
        """Items at the front: as many for each lane."""
        return up(self.k + SPARE, LANES)

    @property
    def pairs(self) -> int:
        return self.d * (self.d + 1) // 2

    @property
    def room_for_sets(self) -> int:
        """Items that all sets of a user hold together."""
        return sum(self.front * WIDER**i for i in range(1, self.sets + 1))

    @property
    def room_for_work(self) -> int:
        """Numbers that a warp needs at a time beside its scores: two matrices, or values."""
        return max(2 * self.d**2, MOST_DRAWN)

    @property
    def bytes_of_desk(self) -> int:
        """Bytes of `Desk`: what a warp needs of the shared memory."""
        lengths = {
            "D": self.d,
            "K": self.k,
            "PAIRS": self.pairs,
            "FRONT": self.front,
            "SETS": self.sets,
            "TIERS": self.sets + 1,
        }
        return bytes_of("Desk", 8 if self.precision == "float64" else 4, lengths)

    @property
    def bytes_of_block(self) -> int:
        """Bytes of shared memory of a block."""
        return up(2 * self.pairs, 8) + WARPS * self.bytes_of_desk


@cache
def source_of(shape: Shape, words: str) -> str:
    """Return the kernel as one text, with CUDA's own header or one that stands in for it."""
    folder = files(__package__) / "kernels"
    texts = [(folder / name).read_text(encoding="utf-8") for name in PARTS]
    return "\n".join([*_constants(shape), words, *texts])


def cuda_words() -> str:
    """Return the words of CUDA that the kernel is written with."""
    return (files(__package__) / "kernels" / "cuda.cuh").read_text(encoding="utf-8")


def _constants(shape: Shape) -> Iterable[str]:
    numbers: dict[str, int | str] = {
        "D": shape.d,
        "K": shape.k,
        "PAIRS": shape.pairs,
        "STEPS": -(-shape.pairs // LANES),
        "COLUMNS": -(-shape.d // LANES),
        "FRONT": shape.front,
        "SLOTS": shape.front // LANES,
        "SETS": shape.sets,
        "TIERS": shape.sets + 1,
        "ROOM_OF_SET(set)": f"(FRONT << ({WIDER.bit_length() - 1} * (set)))",
        "ROOM_FOR_SETS": shape.room_for_sets,
        "ROOM_FOR_WORK": shape.room_for_work,
        "MOST_DRAWN": MOST_DRAWN,
        "HALVINGS": HALVINGS,
        "AT_ONCE": AT_ONCE if shape.d <= 32 else 1,
        "THREADS": WARPS * LANES,
        "ABSENT": f"({ABSENT})",
        "IDEAL": IDEAL,
        "CASCADE": CASCADE,
        "SEQUENTIAL": SequentialModel.code,
        "FIRST_CLICK": FIRST_CLICK,
        "LAST_CLICK": LAST_CLICK,
        "COUNTS": len(BY_ROUND),
        **{name.upper(): row for row, name in enumerate(BY_ROUND)},
        "RESOLUTION": RESOLUTION.hex(),
        "RESIDUAL": RESIDUAL.hex(),
        "AIM": AIM.hex(),
        "LARGEST_RESIDUAL": LARGEST_RESIDUAL.hex(),
        "ROUNDOFF": f"(Real){ROUNDOFF.hex()}",
        "LARGEST": LARGEST.hex(),
        "UNITS": UNIT.hex(),
        "UNIT": float(random._UNIT).hex(),
        "STEP": f"{int(random._STEP)}ULL",
        "MULTIPLIER_1": f"{int(random._MULTIPLIER_1)}ULL",
        "MULTIPLIER_2": f"{int(random._MULTIPLIER_2)}ULL",
        "LOG_2": random._LOG_2.hex(),
        "HALF_ROOT": random._HALF_ROOT.hex(),
        "TWO_PI": (2.0 * pi).hex(),
        "LOG_TERMS": len(random._LOG_SERIES),
        "TRIG_TERMS": len(random._SIN_SERIES),
        "LOG_SERIES": _series(random._LOG_SERIES),
        "SIN_SERIES": _series(random._SIN_SERIES),
        "COS_SERIES": _series(random._COS_SERIES),
    }
    if shape.precision == "float32":  # which never comes so close
        numbers |= {"RESIDUAL": "INFINITY", "LARGEST_RESIDUAL": "INFINITY"}
    kind = "double" if shape.precision == "float64" else "float"
    return [
        *(f"#define {name} {value}" for name, value in numbers.items()),
        f"typedef {kind} Real;",
    ]


def _series(coefficients: Iterable[float]) -> str:
    return "{" + ", ".join(value.hex() for value in coefficients) + "}"
