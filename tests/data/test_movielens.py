"""MovieLens archives of every layout, tiny, as zip files and as folders."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from faircascade.data.base import DataError
from faircascade.data.load import load_dataset
from faircascade.data.movielens import GENRES_100K

RATINGS = [(10, 3, 4, 978300760), (2, 7, 5, 978300761), (10, 7, 1, 978300762)]


def u_item(movie: int, title: str, genres: set[str]) -> bytes:
    flags = "|".join("1" if genre in genres else "0" for genre in GENRES_100K)
    return f"{movie}|{title}|01-Jan-1995|||{flags}\n".encode("latin-1")


def lines(separator: str, rows: list[tuple[float, ...]]) -> bytes:
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


CSV_FILES = {
    "ratings.csv": b"userId,movieId,rating,timestamp\n" + lines(",", RATINGS),
    "movies.csv": (
        'movieId,title,genres\n3,"Am\u00e9lie, or so",Comedy|Romance\n'
        "7,X (1999),(no genres listed)\n"
    ).encode(),
}
DAT_FILES = {
    "ratings.dat": lines("::", RATINGS),
    "movies.dat": b"3::Alien: One::Comedy|Romance\n7::X (1999)::\n",
}
LAYOUTS = {
    "ml-100k": (
        "ml-100k",
        {
            "u.data": lines("\t", RATINGS),
            "u.item": u_item(3, "Am\u00e9lie", {"Comedy", "Romance"}) + u_item(7, "X", {"unknown"}),
        },
    ),
    "ml-1m": (
        "ml-1m",
        {**DAT_FILES, "movies.dat": DAT_FILES["movies.dat"].replace(b"Al", b"\xc9")},
    ),
    "ml-10m": ("ml-10M100K", DAT_FILES),
    "ml-20m": ("ml-20m", CSV_FILES),
    "ml-25m": ("ml-25m", CSV_FILES),
    "ml-32m": ("ml-32m", CSV_FILES),
    "ml-latest-small": ("ml-latest-small", CSV_FILES),
}


def write_zip(path: Path, files: dict[str, bytes], folder: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{folder}/{name}" if folder else name, content)
    return path


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("form", ["zip", "folder", "folder above"])
def test_every_layout_gives_the_same_ratings(tmp_path: Path, name: str, form: str) -> None:
    folder, files = LAYOUTS[name]
    if form == "zip":
        path = write_zip(tmp_path / "archive.zip", files, folder)
    else:
        path = tmp_path if form == "folder above" else tmp_path / folder
        (tmp_path / folder).mkdir()
        for file, content in files.items():
            (tmp_path / folder / file).write_bytes(content)
    data = load_dataset(name, path=path)
    assert data.name == name
    assert data.user_ids.tolist() == [2, 10]
    assert data.item_ids.tolist() == [3, 7]
    assert data.users.tolist() == [1, 0, 1]
    assert data.items.tolist() == [0, 1, 1]
    assert data.ratings.tolist() == [4, 5, 1]
    assert data.item_groups["genre"].tolist() == ["Comedy|Romance", "unknown"]
    assert (data.users.dtype, data.items.dtype) == (np.int32, np.int32)
    assert data.user_ids.dtype == np.int64
    assert data.ratings.dtype == np.float32


def test_half_stars_are_kept(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"ratings.dat": b"1::2::3.5::0\n"})
    assert load_dataset("ml-10m", path=path).ratings.tolist() == [3.5]


def test_an_archive_without_movies_has_no_genres_and_says_so(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"ratings.dat": DAT_FILES["ratings.dat"]})
    data = load_dataset("ml-1m", path=path)
    assert data.item_groups == {}
    assert any("no movies.dat" in note for note in data.notes)


def test_a_local_archive_that_is_not_the_official_one_is_noted(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", DAT_FILES)
    notes = load_dataset("ml-1m", path=path).notes
    assert any("not the official archive" in note and path.name in note for note in notes)
    assert not load_dataset("ml-latest-small", path=write_zip(tmp_path / "b.zip", CSV_FILES)).notes


def test_the_last_of_repeated_ratings_counts_and_the_rest_are_noted(tmp_path: Path) -> None:
    rows = [(1, 1, 1, 0), (1, 2, 2, 0), (1, 1, 3, 0), (1, 1, 4, 0)]
    data = load_dataset(
        "ml-1m", path=write_zip(tmp_path / "a.zip", {"ratings.dat": lines("::", rows)})
    )
    assert data.items.tolist() == [1, 0]
    assert data.ratings.tolist() == [2, 4]
    assert any(note.startswith("2 ratings repeated") for note in data.notes)


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("ml-1m", {"readme": b""}, "there is no ratings.dat in it"),
        ("ml-1m", {"ratings.dat": b""}, "ratings.dat: the file is empty"),
        ("ml-1m", {"ratings.dat": b"1::2::3::4\n1::2::3\n"}, "line 2: 4 fields expected"),
        ("ml-1m", {"ratings.dat": b"1::2::3::4\n\nx::2::3::4\n"}, "line 3: column 'userId' must"),
        ("ml-1m", {"ratings.dat": b"1::2::3::4\n1::2::::4\n"}, "line 2: column 'rating' must be"),
        ("ml-1m", {"ratings.dat": b"1::2::3::4\n\n1::3::nan::4\n"}, "line 3: the rating must be"),
        ("ml-1m", {"ratings.dat": b"1::99999999999::3::4\n"}, "line 1: column 'movieId' must"),
        ("ml-20m", {"ratings.csv": b"a,b,c,d\n1,2,3,4\n"}, "line 1: the header must be userId,"),
        ("ml-20m", {"ratings.csv": b"userId,movieId,rating,timestamp\n"}, "no ratings"),
        (
            "ml-100k",
            {"u.data": b"1\t2\t3\t4\n", "u.item": b"1|title|x\n"},
            "u.item: line 1: 24 fields expected",
        ),
        (
            "ml-20m",
            {**CSV_FILES, "movies.csv": b"movieId,title,genres\nx,Title,Drama\n"},
            "movies.csv: line 2: column 'movieId' must be a whole number, got 'x'",
        ),
    ],
)
def test_bad_archives_are_explained_in_one_line(
    tmp_path: Path, name: str, files: dict[str, bytes], expected: str
) -> None:
    path = write_zip(tmp_path / "a.zip", files)
    with pytest.raises(DataError) as caught:
        load_dataset(name, path=path)
    message = str(caught.value)
    assert expected in message
    assert "\n" not in message


def test_blocks_number_lines_from_the_start_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faircascade.data.delimited.BLOCK_BYTES", 64)
    rows = [(user, 1, 5, 978300760) for user in range(1, 40)]
    good = lines("::", rows)
    whole = load_dataset("ml-1m", path=write_zip(tmp_path / "a.zip", {"ratings.dat": good}))
    assert whole.user_ids.tolist() == list(range(1, 40))
    bad = write_zip(tmp_path / "b.zip", {"ratings.dat": good + b"7::1::five::0\n"})
    with pytest.raises(DataError, match=r"line 40: column 'rating' must be a number, got 'five'"):
        load_dataset("ml-1m", path=bad)


def test_reading_reports_progress_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    path = write_zip(tmp_path / "a.zip", DAT_FILES)
    load_dataset("ml-1m", path=path, progress=lambda *step: seen.append(step))
    size = len(DAT_FILES["ratings.dat"])
    assert seen[-1][1:] == (size, size)
