"""Files as other libraries write them, compressed or not."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from faircascade.data.base import DataError
from faircascade.data.load import load_dataset

ROWS = [(7, 30, 4.5, 11), (7, 31, 2.0, 12), (9, 30, 1.0, 13)]


def lines(separator: str, width: int = 4, header: str = "") -> str:
    rows = [separator.join(map(str, row[:width])) for row in ROWS]
    return "\n".join([header, *rows] if header else rows) + "\n"


FILES = {
    "caserec with tabs": ("caserec", lines("\t", 3)),
    "caserec with spaces": ("caserec", lines(" ", 3)),
    "surprise with tabs": ("surprise", lines("\t")),
    "surprise with spaces": ("surprise", lines(" ")),
    "surprise with commas": ("surprise", lines(",")),
    "lenskit": ("lenskit", lines(",", header="user_id,item_id,rating,timestamp")),
    "lenskit, short names": ("lenskit", lines(",", header="user,item,rating,timestamp")),
    "recbole": (
        "recbole",
        lines("\t", header="user_id:token\titem_id:token\trating:float\ttimestamp:float"),
    ),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("named", [True, False])
def test_a_layout_is_read_by_its_name_and_without(tmp_path: Path, file: str, named: bool) -> None:
    layout, text = FILES[file]
    path = tmp_path / "ratings.txt"
    path.write_text(text)
    data = load_dataset(path, layout=layout) if named else load_dataset(path)
    assert data.user_ids.tolist() == [7, 9]
    assert data.item_ids.tolist() == [30, 31]
    assert data.ratings.tolist() == [4.5, 2, 1]
    guessed = layout in ("caserec", "surprise") and not named
    assert any("no header: its columns are taken as" in n for n in data.notes) == guessed


def test_text_ids_without_a_header_need_a_layout(tmp_path: Path) -> None:
    path = tmp_path / "ratings.tsv"
    path.write_text("ann\tx\t4\nbob\ty\t2\n")
    with pytest.raises(DataError, match="layout='surprise'"):
        load_dataset(path)
    data = load_dataset(path, layout="surprise")
    assert data.user_ids.tolist() == ["ann", "bob"]


def test_a_layout_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"layout must be one of caserec, .*did you mean 'surprise'"
    ):
        load_dataset(tmp_path, layout="surprize")


def test_a_matrix_has_a_user_in_each_row_and_an_item_in_each_column(tmp_path: Path) -> None:
    path = tmp_path / "train.ascii"
    path.write_text("0 5 0 1\n0 0 0 0\n2 0 0 4\n")
    data = load_dataset(path, layout="matrix")
    assert data.user_ids[data.users].tolist() == [0, 0, 2, 2]
    assert data.item_ids[data.items].tolist() == [1, 3, 0, 3]
    assert data.ratings.tolist() == [5, 1, 2, 4]
    path.write_text("0 5 0 1\n0 0\n")
    with pytest.raises(DataError, match="line 2: 4 fields expected"):
        load_dataset(path, layout="matrix")
    path.write_text("0 5 0 1\n0 inf 0 0\n")
    with pytest.raises(DataError, match="line 2: column 'rating' must be a finite number"):
        load_dataset(path, layout="matrix")


def zst(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue().to_pybytes())


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zst}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("file", ["lenskit", "recbole", "surprise with tabs"])
def test_compressed_files_are_read_as_they_are(
    tmp_path: Path, suffix: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faircascade.data.delimited.BLOCK_BYTES", 60)
    text = FILES[file][1]
    name = "ratings.inter" if file == "recbole" else "ratings.csv"
    path = tmp_path / f"{name}.{suffix}"
    path.write_bytes(PACKERS[suffix](text.encode()))
    told: list[tuple[int, int]] = []
    data = load_dataset(path, progress=lambda what, done, total: told.append((done, total)))
    assert data.ratings.tolist() == [4.5, 2, 1]
    assert told
    assert {total for _, total in told} == {0}
    assert told == sorted(told)


def test_a_zip_file_with_one_table_is_read_and_one_with_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mine/ratings.csv", FILES["lenskit"][1])
    assert load_dataset(path).ratings.tolist() == [4.5, 2, 1]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("mine/README", "x")
    with pytest.raises(DataError, match=r"2 files is not a table \(mine/ratings.csv, mine/README"):
        load_dataset(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_several_compressed_parts_are_one_file(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    path = tmp_path / f"ratings.csv.{suffix}"
    path.write_bytes(pack(b"user,item,rating\n1,2,3\n") + pack(b"2,2,5\n"))
    assert load_dataset(path).ratings.tolist() == [3, 5]


@pytest.mark.parametrize("suffix", PACKERS)
def test_mistakes_in_compressed_files_are_explained(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ratings.csv.{suffix}"
    path.write_bytes(PACKERS[suffix](b"user,item,rating\n1,2,3\n1,3,good\n"))
    with pytest.raises(DataError, match=r"line 3: column 'rating' must be a number, got 'good'"):
        load_dataset(path)
    rows = "".join(f"{i},{i * i},{i % 5}\n" for i in range(20_000))
    path.write_bytes(PACKERS[suffix](b"user,item,rating\n" + rows.encode())[:-2000])
    with pytest.raises(DataError, match=r"is damaged, or only a part of one .*; fetch it again"):
        load_dataset(path)
