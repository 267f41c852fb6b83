"""Downloads: once, checked, into the cache folder."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from faircascade.data.archive import check_zip
from faircascade.data.base import DataError, Progress
from faircascade.storage import CACHE_VARIABLE, cache_folder

MIRROR_VARIABLE = "FAIRCASCADE_MIRROR"
_CHUNK_BYTES = 1 << 18


def fetch_zip(
    file: str, *, base: str, md5: str | None, page: str, progress: Progress | None = None
) -> Path:
    """Return the cached zip file, downloaded from `base` (or the mirror) if need be.

    The file gets its name only once it is whole: until then it is a temporary file, which is
    removed when the download fails. `page` is the web page of the file.
    """
    import pooch
    from requests.exceptions import RequestException

    url = f"{os.environ.get(MIRROR_VARIABLE, base).rstrip('/')}/{file}"
    advice = f"get {file} from {page} and pass it with path=FILE"
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        found = pooch.retrieve(
            url,
            known_hash=f"md5:{md5}" if md5 else None,
            fname=file,
            path=cache_folder(),
            downloader=_Downloader(f"downloading {file}", progress),
        )
    except DataError as error:
        raise DataError(f"{url}: what came is not a zip file; {advice}") from error
    except RequestException as error:
        raise DataError(f"{url}: the download failed ({_reason(error)}); {advice}") from None
    except OSError as error:
        raise DataError(
            f"{cache_folder()}: the download cannot be stored ({error.strerror or error}); "
            f"set {CACHE_VARIABLE} to another folder"
        ) from None
    except ValueError:  # pooch's checksum mismatch, or an address without http
        raise DataError(
            f"{url}: the download does not have the MD5 checksum {md5}; try again, or {advice}"
        ) from None
    return Path(found)


class _Downloader:
    """Pooch's HTTP download, which also refuses what is not a zip file before it gets its name."""

    def __init__(self, what: str, progress: Progress | None) -> None:
        self.bar = _Bar(what, progress) if progress else None

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        from pooch import HTTPDownloader

        responses: list[Any] = []
        download = HTTPDownloader(
            progressbar=self.bar or False,
            chunk_size=_CHUNK_BYTES,
            hooks={"response": lambda response, **_: responses.append(response)},
        )
        try:
            download(url, output_file, pooch)
        finally:
            for response in responses:  # pooch leaves them open when a download fails
                response.close()
        check_zip(Path(output_file))


class _Bar:
    """The progress bar that pooch expects, as calls of our callback."""

    def __init__(self, what: str, progress: Progress) -> None:
        self.what, self.progress = what, progress
        self.done = self.total = 0

    def update(self, n: int) -> None:
        self.done += n
        # pooch counts whole chunks, so that the last one runs past the end
        self.progress(self.what, min(self.done, self.total or self.done), self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Nothing to close: the callback's owner does."""


def _reason(error: Exception) -> str:
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import HTTPError, Timeout

    if isinstance(error, HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    if isinstance(error, Timeout):
        return "no answer in time"
    if isinstance(error, NoConnection):
        return "no connection"
    return "the connection broke off" if "Incomplete" in str(error) else type(error).__name__
