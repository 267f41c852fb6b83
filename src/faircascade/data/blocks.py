"""Big files in byte ranges that end at line ends, worked on by all cores, results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from faircascade.data.base import Progress

BLOCK_BYTES = 1 << 23

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of a file that start in the bytes [start, stop)."""

    path: Path
    start: int
    stop: int

    def read(self) -> bytes:
        """Return those lines, whole."""
        with self.path.open("rb") as stream:
            if self.start:
                stream.seek(self.start - 1)
                stream.readline()  # the tail of a line that starts before this block
            first = stream.tell()
            if first >= self.stop:
                return b""
            return stream.read(self.stop - first - 1) + stream.readline()

    def first_line(self) -> int:
        """Return the 1-based number of the first of those lines; reads all that is before."""
        with self.path.open("rb") as stream:
            lines, left = 1, self.start
            while left and (chunk := stream.read(min(left, BLOCK_BYTES))):
                lines, left = lines + chunk.count(b"\n"), left - len(chunk)
                ends_line = chunk.endswith(b"\n")
        return lines if not self.start or ends_line else lines + 1


def cut(paths: Sequence[Path], size: int = BLOCK_BYTES) -> list[Block]:
    """Cut files into blocks of about `size` bytes, in order."""
    return [
        Block(path, start, min(start + size, length))
        for path in paths
        for length in [path.stat().st_size]
        for start in range(0, length, size)
    ]


def map_blocks(
    work: Callable[[Block], Result],
    blocks: Sequence[Block],
    *,
    what: str = "",
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Yield `work(block)` in the order of the blocks; a few are under way on each core."""
    cores = os.cpu_count() or 1
    total, done = sum(block.stop - block.start for block in blocks), 0
    under_way: deque[tuple[Block, Future[Result]]] = deque()
    coming = iter(blocks)
    pool = ThreadPoolExecutor(cores)
    try:
        while True:
            while len(under_way) < 2 * cores and (block := next(coming, None)):
                under_way.append((block, pool.submit(work, block)))
            if not under_way:
                return
            block, future = under_way.popleft()
            yield future.result()
            done += block.stop - block.start
            if progress:
                progress(what, done, total)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
