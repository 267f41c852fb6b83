"""The Yahoo R2 sample against a slow, obvious version, on tiny folders."""

from __future__ import annotations

import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.data.base import DataError, Ratings
from faircascade.data.blocks import cut
from faircascade.data.load import load_dataset
from faircascade.data.yahoo import RATING_FILES

Row = tuple[int, int, int]
rows_of_a_file = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=25
)
folders = st.dictionaries(st.sampled_from(RATING_FILES), rows_of_a_file, min_size=1, max_size=4)


def write(folder: Path, files: dict[str, list[Row]], *, last_newline: bool = True) -> Path:
    for name, rows in files.items():
        text = "\n".join("\t".join(map(str, row)) for row in rows)
        (folder / name).write_text(text + "\n" * last_newline)
    return folder


def most(counts: Counter[int], n: int) -> set[int]:
    return set(sorted(counts, key=lambda key: (-counts[key], key))[:n])


def oracle(files: dict[str, list[Row]], songs: int, users: int) -> dict[tuple[int, int], int]:
    rows = [row for name in RATING_FILES for row in files.get(name, [])]
    chosen_songs = most(Counter(song for _, song, _ in rows), songs)
    rows = [row for row in rows if row[1] in chosen_songs]
    chosen_users = most(Counter(user for user, _, _ in rows), users)
    return {(user, song): rating for user, song, rating in rows if user in chosen_users}


def as_dict(data: Ratings) -> dict[tuple[int, int], int]:
    pairs = zip(data.user_ids[data.users], data.item_ids[data.items], strict=True)
    found = {(int(u), int(s)): int(r) for (u, s), r in zip(pairs, data.ratings, strict=True)}
    assert len(found) == len(data)
    return found


@settings(max_examples=60)
@given(
    files=folders,
    songs=st.integers(1, 10),
    users=st.integers(1, 8),
    block=st.integers(1, 60),
    last_newline=st.booleans(),
)
def test_the_sample_is_that_of_the_oracle_however_the_files_are_cut(
    files: dict[str, list[Row]], songs: int, users: int, block: int, last_newline: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), files, last_newline=last_newline)
        with patch("faircascade.data.yahoo.cut", partial(cut, size=block)):
            data = load_dataset("yahoo-r2", path=folder, songs=songs, users=users)
    expected = oracle(files, songs, users)
    assert as_dict(data) == expected
    assert data.user_ids.tolist() == sorted({user for user, _ in expected})
    assert data.item_ids.tolist() == sorted({song for _, song in expected})


def test_ties_go_to_the_smaller_id(tmp_path: Path) -> None:
    rows = [(user, song, 3) for song in (9, 4, 6) for user in (8, 2, 5)]
    folder = write(tmp_path, {"train_0.txt": rows})
    data = load_dataset("yahoo-r2", path=folder, songs=2, users=2)
    assert data.item_ids.tolist() == [4, 6]
    assert data.user_ids.tolist() == [2, 5]


def test_artists_are_suppliers_and_genres_are_text(tmp_path: Path) -> None:
    folder = write(tmp_path, {"train_0.txt": [(0, 3, 5), (0, 1, 4), (0, 2, 4)]})
    (folder / "song-attributes.txt").write_text("0\t9\t9\t9\n1\t5\t70\t8\n3\t5\t71\t0\n")
    data = load_dataset("yahoo-r2", path=folder)
    assert data.item_groups["supplier"].tolist() == ["70", "unknown", "71"]
    assert data.item_groups["genre"].tolist() == ["8", "unknown", "0"]


def test_notes_say_what_is_missing(tmp_path: Path) -> None:
    notes = load_dataset("yahoo-r2", path=write(tmp_path, {"test_3.txt": [(0, 0, 1)]})).notes
    assert notes[0].startswith("19 of 20 rating files are missing: train_0.txt, ")
    assert "song-attributes.txt" in notes[1]
    everything: dict[str, list[Row]] = {name: [(0, i, 1)] for i, name in enumerate(RATING_FILES)}
    (tmp_path / "song-attributes.txt").write_text("0\t0\t0\t0\n")
    assert load_dataset("yahoo-r2", path=write(tmp_path, everything)).notes == ()


def test_every_pass_reports_progress_to_its_end(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    folder = write(tmp_path, {"train_0.txt": [(0, 0, 1)]})
    load_dataset("yahoo-r2", path=folder, progress=lambda *step: steps.append(step))
    assert [what for what, _, _ in steps] == [
        "counting songs",
        "counting users",
        "collecting ratings",
    ]
    assert all(done == total == 6 for _, done, total in steps)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "train_0.txt: the file is empty"),
        ("1\t2\t3\n1\t2\n", "train_0.txt: line 2: 3 fields expected"),
        ("1\t2\t3\n\n1\tx\t3\n", "train_0.txt: line 3: column 'song' must be a whole number"),
        ("1\t2\t3\n1\t2\t3\n1\t2\tgood\n", "train_0.txt: line 3: column 'rating' must be"),
        ("1\t2\t3\n-1\t2\t3\n", "train_0.txt: line 2: user must be an id between 0 and"),
        ("1\t2\t3\n\n1\t99999999\t3\n", "train_0.txt: line 3: song must be an id between 0 and"),
        ("1,2,3\n", "train_0.txt: line 1: 3 fields expected"),
    ],
)
@pytest.mark.parametrize("block", [5, 1 << 20])
def test_bad_files_are_explained_in_one_line(
    tmp_path: Path, content: str, expected: str, block: int
) -> None:
    (tmp_path / "train_0.txt").write_text(content)
    with (
        patch("faircascade.data.yahoo.cut", partial(cut, size=block)),
        pytest.raises(DataError) as caught,
    ):
        load_dataset("yahoo-r2", path=tmp_path)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["", "nowhere", None])
def test_without_the_files_the_message_says_which_and_where_from(
    tmp_path: Path, place: str | None
) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("yahoo-r2", path=None if place is None else tmp_path / place)
    for part in ("train_0.txt", "test_9.txt", "licensed", "Webscope R2"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", ["songs", "users"])
def test_sample_sizes_start_at_one(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be >= 1, got 0"):
        load_dataset("yahoo-r2", **{option: 0})
