"""MovieLens, as GroupLens publishes it: downloaded once, or read from a zip file or folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.data.archive import find_member, require_member
from faircascade.data.base import DataError, Dataset, Progress, Ratings
from faircascade.data.delimited import Layout, place_in, read_text, records
from faircascade.data.download import fetch_zip
from faircascade.data.id_encoding import UNKNOWN, assemble, code_integers
from faircascade.data.text_file import TextFile
from faircascade.registry import register
from faircascade.storage import cache_folder

BASE_URL = "https://files.grouplens.org/datasets/movielens"
PAGE = "https://grouplens.org/datasets/movielens/"
GENRES_100K = (
    *(UNKNOWN, "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
_COLUMNS = ("userId", "movieId", "rating", "timestamp")


@dataclass(frozen=True, slots=True)
class Files:
    """The two files of one generation of MovieLens archives."""

    ratings: str
    movies: str
    layout: Layout
    """Of the ratings."""
    movie_layout: Layout
    """Of the movies; the genres are the last column, or the flags from the sixth on."""


def _ratings(separator: str, *, header: bool = False) -> Layout:
    return Layout(
        columns=_COLUMNS,
        kinds={"userId": "integer", "movieId": "integer", "rating": "rating"},
        separator=separator,
        header=header,
    )


def _movies(separator: str, encoding: str, *, header: bool = False) -> Layout:
    return Layout(
        columns=("movieId", "title", "genres"),
        kinds={},
        separator=separator,
        header=header,
        quoted=header,
        encoding=encoding,
    )


_U_ITEM = Layout(
    columns=("movieId", "title", "released", "video", "url", *GENRES_100K),
    kinds={},
    separator="|",
    encoding="latin-1",
)
U_DATA = Files("u.data", "u.item", _ratings("\t"), _U_ITEM)
DAT_LATIN = Files("ratings.dat", "movies.dat", _ratings("::"), _movies("::", "latin-1"))
DAT = Files("ratings.dat", "movies.dat", _ratings("::"), _movies("::", "utf-8"))
CSV = Files(
    "ratings.csv",
    "movies.csv",
    _ratings(",", header=True),
    _movies(",", "utf-8", header=True),
)


class MovieLens(Dataset):
    """What all MovieLens data sets share; each of them says which files it has."""

    __slots__ = ()
    licence: ClassVar[str] = (
        "research use under the GroupLens terms; no redistribution without permission"
    )
    files: ClassVar[Files]
    bounds: ClassVar[tuple[float, float]] = (0.5, 5.0)
    """The ends of the scale: stars, in halves since 2003."""
    md5: ClassVar[str | None] = None
    """Checksum of the published zip file; None if the file changes over time."""

    def here(self) -> bool:
        """Tell whether the archive is in the cache."""
        return (cache_folder() / f"{self.name}.zip").is_file()

    def fetch(self, progress: Progress | None = None) -> Path:
        """Download the archive unless the cache has it; return where it lies."""
        return fetch_zip(
            f"{self.name}.zip", base=BASE_URL, md5=self.md5, page=PAGE, progress=progress
        )

    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Read the ratings, and the genres where the archive has them."""
        archive = self.fetch(progress) if path is None else Path(path)
        source = require_member(archive, self.files.ratings)
        table = read_text(source, self.files.layout, progress)
        items = code_integers(table["movieId"].to_numpy())
        movies = find_member(archive, self.files.movies)
        notes = self._checksum_notes(archive) if path is not None else ()
        if movies is None:
            notes = (*notes, f"the archive has no {self.files.movies}, so there are no genres")
        return assemble(
            name=self.name,
            users=code_integers(table["userId"].to_numpy()),
            items=items,
            ratings=table["rating"].to_numpy(),
            bounds=self.bounds,
            where=lambda row: place_in(source, self.files.layout, row),
            notes=notes,
            item_groups={"genre": self._genres(movies, items.ids)} if movies else {},
        )

    def _checksum_notes(self, archive: Path) -> tuple[str, ...]:
        if self.md5 is None or archive.is_dir():
            return ()
        with archive.open("rb") as stream:
            found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
        if found.hexdigest() == self.md5:
            return ()
        return (f"{archive.name} is not the official archive (MD5 {found.hexdigest()})",)

    def _genres(self, movies: TextFile, ids: NDArray[np.int64]) -> NDArray[np.str_]:
        genres = dict(_movie_genres(movies, self.files.movie_layout))
        return np.array([genres.get(int(movie), UNKNOWN) for movie in ids])


def _movie_genres(movies: TextFile, layout: Layout) -> Iterator[tuple[int, str]]:
    """Yield (movie, genres joined by `|`) of a table of movies."""
    with movies.open() as stream:
        for row, (line, fields) in enumerate(records(stream, layout, label=movies.label)):
            if layout.header and row == 0:
                continue
            if len(fields) != len(layout.columns):
                raise DataError(
                    f"{movies.label}: line {line}: {len(layout.columns)} fields expected, "
                    f"got {len(fields)}"
                )
            try:
                movie = int(fields[0])
            except ValueError:
                raise DataError(
                    f"{movies.label}: line {line}: column 'movieId' must be a whole number, "
                    f"got {fields[0][:40]!r}"
                ) from None
            yield movie, _joined(fields)


def _joined(fields: list[str]) -> str:
    flags = fields[5:]
    if flags:
        return "|".join(g for g, f in zip(GENRES_100K, flags, strict=True) if f == "1") or UNKNOWN
    genres = fields[-1].strip()
    return UNKNOWN if genres in ("", "(no genres listed)") else genres


@register("ml-100k")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLens100K(MovieLens):
    """MovieLens 100K (1998)."""

    summary: ClassVar[str] = "100,000 ratings of 1,682 movies by 943 users (1998)"
    files: ClassVar[Files] = U_DATA
    bounds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    md5: ClassVar[str | None] = "0e33842e24a9c977be4e0107933c0723"


@register("ml-1m")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLens1M(MovieLens):
    """MovieLens 1M (2003), the data set of the paper."""

    summary: ClassVar[str] = "1,000,209 ratings of 3,706 movies by 6,040 users (2003)"
    files: ClassVar[Files] = DAT_LATIN
    bounds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    md5: ClassVar[str | None] = "c4d9eecfca2ab87c1945afe126590906"


@register("ml-10m")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLens10M(MovieLens):
    """MovieLens 10M (2009), with half stars."""

    summary: ClassVar[str] = "10,000,054 ratings of 10,677 movies by 69,878 users (2009)"
    files: ClassVar[Files] = DAT
    md5: ClassVar[str | None] = "ce571fd55effeba0271552578f2648bd"


@register("ml-20m")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLens20M(MovieLens):
    """MovieLens 20M (2015)."""

    summary: ClassVar[str] = "20,000,263 ratings of 26,744 movies by 138,493 users (2015)"
    files: ClassVar[Files] = CSV
    md5: ClassVar[str | None] = "cd245b17a1ae2cc31bb14903e1204af3"


@register("ml-25m")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLens25M(MovieLens):
    """MovieLens 25M (2019)."""

    summary: ClassVar[str] = "25,000,095 ratings of 59,047 movies by 162,541 users (2019)"
    files: ClassVar[Files] = CSV
    md5: ClassVar[str | None] = "6b51fb2759a8657d3bfcbfc42b592ada"


@register("ml-32m")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLens32M(MovieLens):
    """MovieLens 32M (2024)."""

    summary: ClassVar[str] = "32,000,204 ratings of 84,432 movies by 200,948 users (2024)"
    files: ClassVar[Files] = CSV
    md5: ClassVar[str | None] = "d472be332d4daa821edc399621853b57"


@register("ml-latest-small")
@dataclass(frozen=True, slots=True, kw_only=True)
class MovieLensLatestSmall(MovieLens):
    """The small, changing MovieLens sample."""

    summary: ClassVar[str] = "about 100,000 ratings of 9,700 movies by 600 users (changes)"
    files: ClassVar[Files] = CSV
