"""The one door: names, files and what is neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from faircascade.data.base import DataError
from faircascade.data.load import load_dataset


@pytest.mark.parametrize("source", ["m1-1m", "ml1m", Path("ml-1n")])
def test_a_near_miss_of_a_name_is_suggested(source: str | Path) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(source)
    message = str(caught.value)
    assert "did you mean 'ml-1" in message
    assert "the data sets are " in message
    assert "yahoo-r2" in message
    assert "\n" not in message


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DataError, match=r"^'no/such/file\.csv' is neither a data set nor a file"):
        load_dataset("no/such/file.csv")


def test_an_empty_name_is_not_the_working_folder() -> None:
    with pytest.raises(DataError, match=r"^'' is neither"):
        load_dataset("")


def test_unknown_options_are_refused_with_a_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n1,1,1\n")
    with pytest.raises(ValueError, match="did you mean 'user'"):
        load_dataset(path, usr="user")
    with pytest.raises(ValueError, match="did you mean 'songs'"):
        load_dataset("yahoo-r2", path=tmp_path, song=5)


def test_path_goes_with_a_name_only(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n1,1,1\n")
    with pytest.raises(DataError, match="path= goes with the name of a data set"):
        load_dataset(path, path=path)
    assert len(load_dataset("table", path=path)) == 1
    with pytest.raises(DataError, match="the file must be given"):
        load_dataset("table")


def test_heavy_libraries_are_imported_only_when_data_is_read() -> None:
    program = (
        "import sys, faircascade.data.load, faircascade.data.movielens, faircascade.data.yahoo, "
        "faircascade.data.tabular; "
        "print(*{'pyarrow', 'pooch', 'requests', 'narwhals', 'pandas', 'polars'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
