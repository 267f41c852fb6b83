"""Lines come out as they went in, however they are cut, compressed and continued."""

from __future__ import annotations

import gzip
import io
import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.imports.sources import lines as module
from faircascade.service.imports.sources.lines import Damaged, Line, LineReader, Pipe

TEXTS = st.lists(st.binary(max_size=30).map(lambda t: t.replace(b"\n", b"")), max_size=20)


class Tape(io.BytesIO):
    """What cannot be wound."""

    def seekable(self) -> bool:
        return False


def reader_of(content: bytes, kind: type[io.BytesIO] = io.BytesIO) -> LineReader:
    return LineReader(kind(content))


def rest_of(reader: LineReader) -> list[Line]:
    found = list(iter(reader.next, None))
    last = reader.last()
    return found if last is None else [*found, last]


@given(
    texts=TEXTS,
    ended=st.booleans(),
    members=st.integers(0, 3),
    chunk=st.integers(1, 40),
    kind=st.sampled_from([io.BytesIO, Tape]),
)
def test_every_line_comes_once_and_reading_goes_on_after_any(
    texts: list[bytes], ended: bool, members: int, chunk: int, kind: type[io.BytesIO]
) -> None:
    content = b"\n".join(texts) + (b"\n" if ended and texts else b"")
    expected = content.split(b"\n")
    expected = expected[:-1] if expected[-1] == b"" else expected
    packed = content
    if members:
        cuts = [len(content) * n // members for n in range(members + 1)]
        parts = [content[a:b] for a, b in pairwise(cuts)]
        packed = b"".join(map(gzip.compress, parts)) + b"\0" * 5
    elif packed.startswith((b"\x1f\x8b", b"\xef\xbb\xbf")):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        whole = rest_of(reader_of(packed, kind))
        assert [line.text for line in whole] == [
            t.removeprefix(b"\xef\xbb\xbf") if not n else t for n, t in enumerate(expected)
        ]
        assert [line.number for line in whole] == list(range(1, len(whole) + 1))
        for done in range(len(whole) + 1):
            reader, again = reader_of(packed, kind), reader_of(packed, kind)
            for _ in range(done):
                reader.next() or reader.last()
            size, digest = reader.head(reader.position)
            assert again.skip(reader.position, reader.number, size, digest)
            assert rest_of(again) == whole[done:]


def test_another_file_is_noticed() -> None:
    reader = reader_of(b"one\ntwo\n")
    rest_of(reader)
    size, digest = reader.head(reader.position)
    for content in (b"one\nTWO\nthree\n", b"one\n", b""):
        other = reader_of(content)
        assert not other.skip(reader.position, reader.number, size, digest)


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole(monkeypatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 5000)
    monkeypatch.setattr(module, "CHUNK", 700)
    content = b"short\n" + b"x" * 20_000 + b"\nnext\n"
    first, second, third = rest_of(reader_of(content))
    assert (first.text, first.too_long) == (b"short", False)
    assert second.too_long
    assert len(second.text) == 1000
    assert second.end == 20_007
    assert (third.text, third.number, third.too_long) == (b"next", 3, False)


def test_damaged_compression_is_an_error_after_the_lines_before_it() -> None:
    packed = gzip.compress(b"one\n") + gzip.compress(b"two\n" * 1000)
    for content in (packed[:-10], packed[:24] + b"nonsense that is not gzip"):
        reader = reader_of(content)
        with pytest.raises(Damaged):
            rest_of(reader)


def test_a_position_in_a_pipe_is_waited_for() -> None:
    reading, writing = os.pipe()

    class Late(Pipe):
        """What writes nothing before somebody has looked in vain."""

        def read(self, size: int | None = -1, /) -> bytes:
            found = super().read(size)
            if not found and not self.ended:
                os.write(writing, text)
                os.close(writing)
            return found

    text = b"one\ntwo\n"
    first = reader_of(text)
    first.next()
    reader = LineReader(Late(reading, 0.0))
    assert reader.skip(first.position, 1, *first.head(first.position))
    os.close(reading)
