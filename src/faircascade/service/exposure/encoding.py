"""An account as bytes and back: one .npz archive, without pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.service.exposure.counters import ALL, Counters
from faircascade.service.exposure.counts import TOTALS, Counts
from faircascade.service.exposure.fairness import MEASURES
from faircascade.service.exposure.tally import ArmTally, Tallies, UserSample
from faircascade.service.exposure.windows import (
    OPEN,
    SPANS,
    UNSETTLED,
    Span,
    Step,
    Window,
)

VERSION = 5


def to_bytes(account: Counters) -> bytes:
    """Return the account as bytes."""
    members: dict[str, Any] = {
        "version": np.array(VERSION),
        "first": np.array(np.nan if account.first is None else account.first),
        **_pack(ALL, [0], [Step.pack(account.counts, UNSETTLED)]),
    }
    for name, window in account.windows.items():
        steps = {number: _packed(window.step(number)) for number in {*window.closed, *window.open}}
        members |= _pack(name, sorted(steps), [steps[number] for number in sorted(steps)])
        members[f"{name}/running"] = np.array(window.running)
    file = BytesIO()
    members |= _pack_tallies(account.tallies)
    np.savez(file, **members)
    return file.getvalue()


def from_bytes(data: bytes) -> Counters:
    """Return the account that `to_bytes` gave; what it did not give is refused."""
    try:
        archive = np.load(BytesIO(data), allow_pickle=False)
        version = int(archive["version"])
    except Exception as error:  # there are as many as ways to damage an archive
        raise ValueError(
            "exposure counts cannot be read: not an archive of this program"
        ) from error
    if version != VERSION:
        raise ValueError(
            f"exposure counts are of version {version}; this release reads version {VERSION}"
        )
    try:
        with archive:
            return _account(archive)  # which reads one array after the other: they are large
    except Exception as error:
        raise ValueError(f"exposure counts are damaged: {error}") from error


def _packed(step: Step | Counts) -> Step:
    return step if isinstance(step, Step) else Step.pack(step, UNSETTLED)


def _account(arrays: Mapping[str, NDArray[Any]]) -> Counters:
    first = float(arrays["first"])
    counts = Counts()
    for _, step in _unpack(ALL, arrays):
        step.add_to(counts)
    return Counters(
        first=None if np.isnan(first) else first,
        counts=counts,
        windows={name: _window(span, arrays) for name, span in SPANS.items()},
        tallies=_tallies(arrays),
    )


def _pack_tallies(tallies: Tallies) -> dict[str, NDArray[Any]]:
    """Return what was counted of experiments: a list of arms, and arrays of each."""
    arrays: dict[str, NDArray[Any]] = {}
    listed: list[list[Any]] = []
    for key, arms in tallies.arms.items():
        for arm, tally in arms.items():
            name = f"arm/{len(listed)}"
            rewards = sorted(tally.rewards.items())
            listed.append([key, arm, tally.users.halvings, tally.common, tally.items, rewards])
            blocks = sorted(tally.blocks)
            steps = [Step.pack(tally.blocks[block], UNSETTLED) for block in blocks]
            arrays |= _pack(name, blocks, steps)
            arrays[f"{name}/users"] = np.array(sorted(tally.users.hashes), dtype=np.uint32)
    return {"arms": np.array(json.dumps(listed)), **arrays}


def _tallies(arrays: Mapping[str, NDArray[Any]]) -> Tallies:
    tallies = Tallies()
    listed = json.loads(str(arrays["arms"])) if "arms" in arrays else []
    for place, (key, arm, halvings, common, items, rewards) in enumerate(listed):
        hashes = set(arrays[f"arm/{place}/users"].tolist())
        users = UserSample(hashes=hashes, halvings=halvings)
        tally = ArmTally(users=users, common=common, items=items)
        tally.rewards.update({int(block): int(units) for block, units in rewards})
        for block, step in _unpack(f"arm/{place}", arrays):
            step.add_to(tally.blocks[block])
        tallies.arms.setdefault(key, {})[arm] = tally
    return tallies


def _window(span: Span, arrays: Mapping[str, NDArray[Any]]) -> Window:
    window = Window(span=span, running=int(arrays[f"{span.name}/running"]))
    for number, step in _unpack(span.name, arrays):
        if not window.first <= number <= window.running:
            raise ValueError(f"step {number} is outside of the window {span.name}")
        step.add_to(window.total)
        if number > window.running - OPEN:
            window.open[number] = Counts()
            step.add_to(window.open[number])
        else:
            window.closed[number] = step
    return window


def _pack(name: str, numbers: Sequence[int], steps: Sequence[Step]) -> dict[str, NDArray[Any]]:
    """Return steps end to end: an array is dear in an archive, and there are many steps."""
    arrays: dict[str, NDArray[Any]] = {
        "numbers": np.array(numbers, dtype=np.int64),
        "sizes": np.array([step.size for step in steps], dtype=np.int64),
        "lengths": np.array([len(step.packed) for step in steps], dtype=np.int64),
        "packed": np.frombuffer(b"".join(step.packed for step in steps), dtype=np.uint8),
        "totals": np.array([step.totals for step in steps], dtype=np.int64).reshape(-1, TOTALS),
        "fairness": np.array([step.fairness for step in steps]).reshape(-1, len(MEASURES)),
    }
    return {f"{name}/{part}": array for part, array in arrays.items()}


def _unpack(name: str, arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[int, Step]]:
    """Yield the steps that `_pack` laid end to end, by number."""
    numbers, sizes, lengths, packed, totals, fairness = (
        arrays[f"{name}/{part}"]
        for part in ("numbers", "sizes", "lengths", "packed", "totals", "fairness")
    )
    ends = np.cumsum(lengths)
    if len(packed) != lengths.sum():
        raise ValueError(f"the steps of {name} must have {lengths.sum()} bytes")
    for place, number in enumerate(numbers.tolist()):
        part = packed[int(ends[place] - lengths[place]) : int(ends[place])]
        yield (
            int(number),
            Step(
                size=int(sizes[place]),
                packed=part.tobytes(),
                totals=totals[place],
                fairness=fairness[place],
            ),
        )
