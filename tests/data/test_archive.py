"""Archives that must not be trusted."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from faircascade.data.archive import find_member, require_member
from faircascade.data.base import DataError
from faircascade.data.load import load_dataset


@pytest.mark.parametrize(
    "member",
    ["../evil.txt", "a/../../evil.txt", "/etc/evil", "..\\evil.txt", "C:/evil", "C:\\evil"],
)
def test_a_member_that_would_escape_is_refused_by_name(tmp_path: Path, member: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-1m/ratings.dat", "1::1::5::0\n")
        archive.writestr(member, "x")
    with pytest.raises(DataError) as caught:
        load_dataset("ml-1m", path=path)
    assert repr(member) in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_what_is_not_a_zip_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.zip: not a zip file"):
        load_dataset("ml-1m", path=path)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.zip: no such file"):
        load_dataset("ml-1m", path=tmp_path / "gone.zip")


def test_a_damaged_member_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.dat", "1::1::5::0\n" * 50)
    content = bytearray(path.read_bytes())
    content[60] ^= 0x01  # inside the stored text, so that its checksum no longer holds
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"ratings\.dat is damaged"):
        load_dataset("ml-1m", path=path)


def test_the_shallowest_member_of_that_name_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a/b/ratings.dat", "__MACOSX/ratings.dat", "z/ratings.dat"):
            archive.writestr(name, "")
    assert require_member(path, "ratings.dat").label.endswith(": z/ratings.dat")
    assert find_member(path, "movies.dat") is None
