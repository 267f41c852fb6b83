"""What kind of feedback a table has: ratings, interactions or counts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from faircascade.data.base import DataError, Ratings
from faircascade.data.load import load_dataset
from faircascade.data.prepare import binarise, resolve_threshold


def written(folder: Path, text: str, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def positives(data: Ratings) -> int:
    return len(binarise(data, resolve_threshold(data, None)[0]))


@pytest.mark.parametrize(
    "text",
    [
        "user,item\n1,5\n1,6\n2,5\n1,5\n",
        "user,item,timestamp\n1,5,3\n1,6,1\n2,5,2\n1,5,4\n",
        "visitorid,itemid,event\na,x,view\na,y,view\nb,x,view\na,x,view\n",
        "1 5\n1 6\n2 5\n1 5\n",
    ],
)
def test_a_table_without_ratings_is_implicit_feedback(tmp_path: Path, text: str) -> None:
    data = load_dataset(written(tmp_path, text))
    assert data.feedback == "implicit"
    assert data.scale is None
    assert data.ratings.tolist() == [1, 1, 1]
    assert positives(data) == 3
    assert any("no column of ratings: every row counts as liked" in n for n in data.notes)
    assert "1 rows repeated a user and item: they were merged" in data.notes


@pytest.mark.parametrize("name", ["plays", "playcount", "play_count", "views", "weight", "Count"])
def test_every_count_above_zero_is_a_positive_and_repeats_add_up(tmp_path: Path, name: str) -> None:
    data = load_dataset(written(tmp_path, f"user,artist,{name}\n1,a,7\n1,b,0\n2,a,300\n1,a,2\n"))
    assert data.feedback == "counts"
    assert dict(zip(data.items.tolist(), data.ratings.tolist(), strict=True))[1] == 0
    assert sorted(data.ratings.tolist()) == [0, 9, 300]
    assert positives(data) == 2
    assert any(name in note and "counts as liked" in note for note in data.notes)


def test_counts_must_not_be_negative(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 3: column 'plays' must be a finite number >= 0"):
        load_dataset(written(tmp_path, "user,item,plays\n1,1,2\n1,2,-1\n"))


def test_a_column_that_is_named_as_the_rating_is_one() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "plays": [1, 900]})
    data = load_dataset(frame, rating="plays")
    assert (data.feedback, data.notes) == ("explicit", ())
    assert resolve_threshold(data, None)[0] > 1
    assert load_dataset(frame, rating="plays", feedback="counts").feedback == "counts"


def test_ratings_can_be_ignored() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "rating": [1, 5]})
    data = load_dataset(frame, feedback="implicit")
    assert (data.feedback, data.ratings.tolist(), data.notes) == ("implicit", [1, 1], ())


def test_a_rating_that_is_always_the_same_is_implicit_feedback(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path, "User_ID\tAnime_ID\tFeedback\n1\t1\t1\n1\t2\t1\n"))
    assert data.feedback == "implicit"
    assert "column 'Feedback' is always 1: every row counts as liked (implicit feedback)" in (
        data.notes
    )
    assert "items are taken from the column 'Anime_ID'" in data.notes


def test_times_are_no_ratings(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path, "1\t5\t881250949\n2\t5\t891717742\n"))
    assert (data.feedback, data.ratings.tolist()) == ("implicit", [1, 1])


def test_what_goes_beyond_any_scale_is_a_count(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path, "user,item,click\n1,5,4000\n2,5,1\n"))
    assert data.feedback == "counts"
    assert positives(data) == 2


def test_zero_and_one_are_a_scale(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path, "user,item,click\n1,5,0\n2,5,1\n3,5,0\n"))
    assert data.feedback == "explicit"
    assert positives(data) == 1


def test_a_kind_of_feedback_that_the_columns_do_not_have_is_refused() -> None:
    frame = pl.DataFrame({"user": [1], "item": [1]})
    for kind in ("explicit", "counts"):
        with pytest.raises(DataError, match="no column looks like the rating"):
            load_dataset(frame, feedback=kind)
    with pytest.raises(ValueError, match="feedback must be one of explicit, implicit, counts"):
        load_dataset(frame, feedback="stars")


def test_the_fingerprint_knows_the_kind_of_feedback() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "plays": [1, 5]})
    counts, stars = load_dataset(frame), load_dataset(frame, rating="plays")
    assert counts.fingerprint != stars.fingerprint
    assert stars.fingerprint == load_dataset(frame, rating="plays").fingerprint


def test_the_fingerprint_knows_the_groups_of_items() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "plays": [1, 5], "genre": ["a", "a"]})
    other = frame.with_columns(genre=pl.lit("b"))
    found = [
        load_dataset(frame, groups="genre"),
        load_dataset(other, groups="genre"),
        load_dataset(frame, supplier="genre"),
        load_dataset(frame),
    ]
    assert len({ratings.fingerprint for ratings in found}) == 4
    assert found[0].fingerprint == load_dataset(frame, groups="genre").fingerprint


def test_ratings_without_groups_keep_the_fingerprint_that_stored_cells_have() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 1], "plays": [1, 5]})
    assert load_dataset(frame).fingerprint == "28d74c55eb2af4a9"


MISSING = "user,item,rating,genre\n1,5,3,a\n1,6,,b\n,7,4,c\n2,5,NA,d\n2,8,5,e\n"


def test_rows_without_a_value_are_left_out_on_request(tmp_path: Path) -> None:
    data = load_dataset(written(tmp_path, MISSING), missing="drop", groups="genre")
    assert data.user_ids.tolist() == [1, 2]
    assert data.item_ids.tolist() == [5, 8]
    assert data.ratings.tolist() == [3, 5]
    assert data.item_groups["genre"].tolist() == ["a", "e"]
    assert "3 rows without a user or item or rating were left out" in data.notes


def test_rows_without_a_value_are_refused_otherwise(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 3: column 'rating' .*missing='drop'"):
        load_dataset(written(tmp_path, MISSING))


@pytest.mark.parametrize("values", [[3.0, None, 5.0], [3.0, float("nan"), 5.0], ["3", " ", "5"]])
def test_rows_of_a_dataframe_without_a_value_are_left_out_on_request(values: list[object]) -> None:
    frame = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "b", "c"], "rating": values})
    data = load_dataset(frame, missing="drop")
    assert data.user_ids.tolist() == [1, 3]
    assert data.ratings.tolist() == [3, 5]


def test_places_are_right_where_rows_were_left_out(tmp_path: Path) -> None:
    text = "user,item,rating\n1,5,\n1,6,3\n1,7,inf\n"
    with pytest.raises(DataError, match=r"line 4: column 'rating' must be a finite number"):
        load_dataset(written(tmp_path, text), missing="drop")


@pytest.mark.parametrize("sep", [";", "\t"])
def test_decimal_commas_are_understood(tmp_path: Path, sep: str) -> None:
    text = "user;item;rating\n1;5;3\n1;6;4,5\n2;5;1,25\n".replace(";", sep)
    data = load_dataset(written(tmp_path, text))
    assert data.ratings.tolist() == [3, 4.5, 1.25]
    assert "numbers were read with decimal commas" in data.notes
    quoted = load_dataset(written(tmp_path, 'user,item,rating\n1,5,"3,5"\n2,5,4\n'))
    assert quoted.ratings.tolist() == [3.5, 4]


def test_decimal_commas_and_points_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 3: column 'rating' must be a number, got '3\.5'"):
        load_dataset(written(tmp_path, "user;item;rating\n1;5;3,5\n1;6;3.5\n"))
