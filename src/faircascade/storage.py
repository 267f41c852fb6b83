"""Arrays on disk: one .npz file with a JSON header, versioned, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE_VARIABLE = "FAIRCASCADE_CACHE"
DRAFT = ".part"
"""How the names of what is being written end."""
_HEADER = "__header__"


def cache_folder() -> Path:
    """Return the folder for downloads and compiled code: $FAIRCASCADE_CACHE, or the platform's."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("faircascade"))


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside `path` that takes its place if the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = draft_of(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """Return a name beside a path that nobody else has, on whichever machine."""
    return path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}{DRAFT}")


def sweep(path: Path) -> None:
    """Remove what was being written to a path by processes that were killed.

    Only for who can be sure that nobody else is writing there.
    """
    for left in path.parent.glob(f".{path.name}.*{DRAFT}"):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def check_folder(folder: str | Path) -> Path:
    """Make a folder for results, or say now rather than after a long run that it cannot be."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: results go into a folder, and this is a file")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{folder}: the folder cannot be written to")
    return folder


@contextmanager
def results_folder(folder: str | Path) -> Iterator[Path]:
    """Yield a folder for results that can be written to; what was made for them is removed again
    if nothing came of it."""
    folder = Path(folder)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield check_folder(folder)
    finally:
        for each in made:
            if not each.is_dir() or any(each.iterdir()):
                break
            each.rmdir()


def can_be_written(path: str | Path) -> bool:
    """Tell whether a file can be made or replaced, in folders that there may not be yet."""
    path = Path(path).absolute()
    there = next(each for each in path.parents if each.exists())
    return not path.is_dir() and there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def free_folder(name: str) -> Path:
    """Return a folder below `runs` that has nothing in it yet: `runs/NAME`, `runs/NAME-2`, ..."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for n in names if not any((folder := Path("runs") / n).glob("*")))


def save_arrays(
    path: str | Path,
    *,
    kind: str,
    version: int,
    meta: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays and a JSON header of what they are."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"{name} must hold numbers or text, got Python objects")
    header = json.dumps({"kind": kind, "version": version, "meta": meta})
    with replacing(path) as temporary, temporary.open("wb") as file:
        members: dict[str, Any] = {_HEADER: np.array(header), **arrays}
        np.savez(file, **members)
        file.flush()
        os.fsync(file.fileno())


def to_disk(path: Path) -> None:
    """Wait until a file's contents, or a folder's names, would survive a power cut."""
    if os.name == "nt" and path.is_dir():  # Windows has no handle for that
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def load_arrays(
    path: str | Path, *, kind: str, version: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `save_arrays` wrote, refusing another kind or version."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
    except FileNotFoundError:
        raise
    except Exception:  # there are as many as ways to damage an archive
        raise ValueError(f"{path}: not a file that faircascade saved, or a damaged one") from None
    if header["kind"] != kind:
        raise ValueError(f"{path}: expected a saved {kind}, found a saved {header['kind']}")
    if header["version"] != version:
        raise ValueError(
            f"{path}: saved as version {header['version']} of {kind}, this release reads {version}"
        )
    return header["meta"], arrays


def fingerprint(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> str:
    """Return a hash of names, shapes, contents and plain data beside them, 16 hex digits."""
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
