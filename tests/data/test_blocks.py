"""Blocks of whole lines, whatever the sizes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.data.blocks import Block, cut, map_blocks


@given(
    lines=st.lists(st.text("ab", max_size=5), min_size=1, max_size=12),
    size=st.integers(1, 20),
    last_newline=st.booleans(),
)
def test_every_line_is_in_exactly_one_block_and_numbered(
    lines: list[str], size: int, last_newline: bool
) -> None:
    content = "\n".join(lines).encode() + b"\n" * last_newline
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        blocks = cut([path, path], size)
        parts = list(map_blocks(Block.read, blocks))
        starts = [block.first_line() for block in blocks]
    assert b"".join(parts) == content * 2
    half = len(blocks) // 2
    line = 1
    for part, start in zip(parts[:half], starts[:half], strict=True):
        if part:
            assert start == line
        line += part.count(b"\n")


def test_an_error_in_one_block_stops_the_rest() -> None:
    blocks = [Block(Path("x"), i, i + 1) for i in range(1000)]
    done: list[int] = []

    def work(block: Block) -> None:
        if block.start == 3:
            raise ValueError("block 3")
        done.append(block.start)

    with pytest.raises(ValueError, match="block 3"):
        list(map_blocks(work, blocks))
    assert len(done) < 1000
