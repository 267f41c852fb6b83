"""Archives, read in place: a zip file or the folder that it was extracted to."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from faircascade.data.base import DataError
from faircascade.data.text_file import TextFile


def find_member(archive: Path, name: str) -> TextFile | None:
    """Return the file called `name`, the shallowest first.

    A zip file is searched at any depth, a folder with the folders right below it.
    """
    if archive.is_dir():
        found = [*archive.glob(name), *sorted(archive.glob(f"*/{name}"))]
        return TextFile.at(found[0]) if found else None
    members = [info for info in _safe_members(archive) if PurePosixPath(info.filename).name == name]
    members = [info for info in members if not info.filename.startswith("__MACOSX/")]
    if not members:
        return None
    member = min(members, key=lambda info: (info.filename.count("/"), info.filename))
    label = f"{archive}: {member.filename}"
    return TextFile(label, member.file_size, lambda: _open_member(archive, member.filename))


def require_member(archive: Path, name: str) -> TextFile:
    """Return the file called `name`, or say that it is not there."""
    found = find_member(archive, name)
    if found is None:
        raise DataError(f"{archive}: there is no {name} in it")
    return found


def named_member(archive: Path, name: str) -> TextFile:
    """Return the member of a zip file with this path."""
    files = {info.filename: info for info in _safe_members(archive) if not info.is_dir()}
    if name not in files:
        raise DataError(f"{archive}: there is no {name!r} in it; there are {some(files)}")
    size = files[name].file_size
    return TextFile(f"{archive}: {name}", size, lambda: _open_member(archive, name))


def member_names(archive: Path) -> list[str]:
    """Return the paths of the files in a zip file."""
    names = [info.filename for info in _safe_members(archive) if not info.is_dir()]
    return [name for name in names if not name.startswith("__MACOSX/")]


def only_member(archive: Path) -> TextFile:
    """Return the only file of a zip file, or say what else there is."""
    names = member_names(archive)
    if len(names) == 1:
        return require_member(archive, PurePosixPath(names[0]).name)
    raise DataError(
        f"{archive}: a zip file with {len(names)} files is not a table ({some(names)}); "
        'extract it and name the file with the ratings, or name the data set, as in "ml-1m" with '
        "path=FILE"
    )


def some(names: Iterable[str]) -> str:
    """Return the first names for a message."""
    listed = list(names)
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")


def check_zip(path: Path) -> None:
    """Refuse a file that is not a whole zip file or has members outside its folder."""
    _safe_members(path)


def _safe_members(path: Path) -> list[zipfile.ZipInfo]:
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile:
        raise DataError(f"{path}: not a zip file, or only a part of one") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    for member in members:
        if _escapes(member.orig_filename):
            raise DataError(
                f"{path}: refused, as its member {member.orig_filename!r} "
                "would lie outside the archive's folder"
            )
    return members


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or parts[0].endswith(":") or ".." in parts


@contextmanager
def _open_member(path: Path, name: str) -> Iterator[IO[bytes]]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            yield stream
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise DataError(f"{path}: {name} is damaged ({error})") from None
    except RuntimeError as error:
        if "password" not in str(error) and "encrypted" not in str(error):
            raise
        raise DataError(f"{path}: {name} is encrypted") from None
