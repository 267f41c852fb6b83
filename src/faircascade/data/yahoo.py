"""Yahoo! Music (Webscope R2), from a licensed user's folder: a sample, picked while streaming.

The 717 million ratings do not fit in memory, so three passes go over the files: count the
ratings of each song; count, on the chosen songs, those of each user; collect what is left.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Dataset, Progress, Ratings
from faircascade.data.blocks import Block, cut, map_blocks
from faircascade.data.delimited import Kind, Layout, line_of_row, parse, read_text
from faircascade.data.id_encoding import UNKNOWN, assemble, code_integers
from faircascade.data.text_file import TextFile
from faircascade.errors import ParameterError
from faircascade.registry import register

RATING_FILES = tuple(f"{part}_{i}.txt" for part in ("train", "test") for i in range(10))
ATTRIBUTES = "song-attributes.txt"
MAX_ID = 10_000_000
"""Ids are counted in tables; R2 has 1.8 million users and 137 thousand songs."""

_COLUMNS = ("user", "song", "rating")
_COUNTED: dict[str, Kind] = {"user": "integer", "song": "integer"}
_SONGS = Layout(columns=_COLUMNS, kinds={"song": "integer"})
_PAIRS = Layout(columns=_COLUMNS, kinds=_COUNTED)
_RATINGS = Layout(columns=_COLUMNS, kinds={**_COUNTED, "rating": "integer"})
_ATTRIBUTES = Layout(
    columns=("song", "album", "artist", "genre"),
    kinds={"song": "integer", "artist": "integer", "genre": "integer"},
)

Columns = tuple[NDArray[np.int32], ...]


@register("yahoo-r2")
@dataclass(frozen=True, slots=True, kw_only=True)
class YahooR2(Dataset):
    """Ratings of the most rated songs by the users most active on them."""

    songs: int = 1000
    """How many of the most rated songs to take, >= 1; ties by id."""
    users: int = 1000
    """How many of the users with the most ratings of those songs to take, >= 1; ties by id."""

    summary: ClassVar[str] = "717 million ratings of 136,736 songs by 1.8 million users; a sample"
    licence: ClassVar[str] = "Yahoo Webscope R2: licensed to academic users, who bring the files"
    needs_path: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("songs", "users"):
            if getattr(self, name) < 1:
                raise ParameterError(name, "must be >= 1", getattr(self, name))

    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Pick the sample out of the rating files in the folder `path`."""
        folder, files, notes = _rating_files(path)
        blocks = cut(files)

        counts = _count(_songs, blocks, "counting songs", progress)
        songs = _most(counts, self.songs)
        counts = _count(lambda b: _users(b, songs), blocks, "counting users", progress)
        users = _most(counts, self.users)
        kept = list(
            map_blocks(
                lambda b: _sample(b, songs, users),
                blocks,
                what="collecting ratings",
                progress=progress,
            )
        )
        user, song, rating = (np.concatenate(column) for column in zip(*kept, strict=True))
        items = code_integers(song)
        groups, missing = _song_groups(folder / ATTRIBUTES, items.ids)
        return assemble(
            name=self.name,
            users=code_integers(user),
            items=items,
            ratings=rating.astype(np.float32),
            bounds=(1.0, 5.0),
            where=lambda row: str(folder),  # integers are always finite
            notes=(*notes, *missing),
            item_groups=groups,
        )


def _rating_files(path: Path | None) -> tuple[Path, list[Path], tuple[str, ...]]:
    """Return the folder, its rating files and a note if some are missing."""
    expected = "train_0.txt to train_9.txt and test_0.txt to test_9.txt"
    if path is None or not Path(path).is_dir():
        place = "yahoo-r2" if path is None else str(path)
        raise DataError(
            f"{place}: the folder with {expected} must be given with path=FOLDER; the data is "
            "licensed: ask for Yahoo Webscope R2"
        )
    folder = Path(path)
    files = [folder / name for name in RATING_FILES if (folder / name).is_file()]
    if not files:
        raise DataError(
            f"{folder}: none of {expected} is there; "
            "the data is licensed: ask for Yahoo Webscope R2"
        )
    for file in files:
        if file.stat().st_size == 0:
            raise DataError(f"{file}: the file is empty")
    missing = [name for name in RATING_FILES if not (folder / name).is_file()]
    if not missing:
        return folder, files, ()
    return folder, files, (f"{len(missing)} of 20 rating files are missing: {', '.join(missing)}",)


def _read(block: Block, layout: Layout) -> Columns:
    lines = block.read()
    if not lines.strip():
        return tuple(np.empty(0, np.int32) for _ in layout.kinds)
    table = parse(lines, layout, label=str(block.path), first_line=block.first_line, threads=False)
    columns = tuple(table[name].to_numpy() for name in layout.kinds)
    for name, column in zip(layout.kinds, columns, strict=True):
        if name != "rating" and len(column) and not 0 <= column.min() <= column.max() <= MAX_ID:
            row = int(np.argmax((column < 0) | (column > MAX_ID)))
            label, first_line = str(block.path), block.first_line()
            line = line_of_row(io.BytesIO(lines), layout, row, label=label, first_line=first_line)
            raise DataError(
                f"{block.path}: line {line}: {name} must be an id between 0 and {MAX_ID:,}, "
                f"got {column[row]}"
            )
    return columns


def _songs(block: Block) -> NDArray[np.int32]:
    (song,) = _read(block, _SONGS)
    return song


def _users(block: Block, songs: NDArray[np.bool_]) -> NDArray[np.int32]:
    user, song = _read(block, _PAIRS)
    return user[_member(songs, song)]


def _sample(block: Block, songs: NDArray[np.bool_], users: NDArray[np.bool_]) -> Columns:
    user, song, rating = _read(block, _RATINGS)
    keep = np.flatnonzero(_member(songs, song))
    keep = keep[_member(users, user[keep])]
    return user[keep], song[keep], rating[keep]


def _member(chosen: NDArray[np.bool_], ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Look ids up in a table of the chosen ones; ids past its end were not chosen."""
    return chosen.take(ids, mode="clip")


def _count(
    work: Callable[[Block], NDArray[np.int32]],
    blocks: Sequence[Block],
    what: str,
    progress: Progress | None,
) -> NDArray[np.int64]:
    """Count the ids that `work` finds, (largest id + 1,).

    There is one table of counts, not one for each core: a table can be as long as MAX_ID.
    """
    total = np.zeros(0, dtype=np.int64)
    for ids in map_blocks(work, blocks, what=what, progress=progress):
        longest = int(ids.max(initial=-1)) + 1
        if longest > len(total):
            total = np.pad(total, (0, longest - len(total)))
        np.add.at(total, ids, 1)
    return total


def _most(counts: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Mark the n ids with the largest counts, ties by id; one more entry is always False."""
    order = np.argsort(-counts, kind="stable")[:n]
    chosen = np.zeros(len(counts) + 1, dtype=bool)
    chosen[order[counts[order] > 0]] = True
    return chosen


def _song_groups(
    path: Path, songs: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.str_]], tuple[str, ...]]:
    """Return artist as supplier and genre of each song, as text, and a note if there are none."""
    if not path.is_file():
        return {}, (f"there is no {ATTRIBUTES}, so no suppliers (artists) and genres",)
    table = read_text(TextFile.at(path), _ATTRIBUTES)
    row_of = {song: row for row, song in enumerate(table["song"].to_numpy().tolist())}
    rows = [row_of.get(song, -1) for song in songs.tolist()]
    return {
        "supplier": np.array(list(_texts(table["artist"].to_numpy(), rows))),
        "genre": np.array(list(_texts(table["genre"].to_numpy(), rows))),
    }, ()


def _texts(column: NDArray[Any], rows: list[int]) -> Iterator[str]:
    return (str(column[row]) if row >= 0 else UNKNOWN for row in rows)
