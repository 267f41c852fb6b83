"""What is refused stands in its file once, whatever happened in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faircascade.service.imports.events import Record, Refusal
from faircascade.service.imports.refusals import RefusedFile


def refusal(n: int, text: bytes = b'{"type": "x"}', reason: str = "no") -> Refusal:
    return Refusal(Record(text, f"clicks:{n}"), reason, 404)


def written(path: Path, *refusals: Refusal) -> list[dict[str, object]]:
    """Return the file after a run that is killed once it has written."""
    file = RefusedFile(path)
    file.open()
    file.write(refusals)
    file.close()
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_says_where_why_and_what(tmp_path: Path) -> None:
    path = tmp_path / "refused"
    (line,) = written(path, refusal(7, '{"type": "é"}'.encode(), 'the "event": is wrong'))
    reason = 'the "event": is wrong'
    assert line == {"at": "clicks:7", "status": 404, "reason": reason, "event": {"type": "é"}}


@pytest.mark.parametrize(
    "text", [b"nonsense", b"[1]", b"\xff", b"", b'{"a":\n1}', b"NaN", b'{"a": NaN}', b"[" * 99_999]
)
def test_what_is_no_object_on_one_line_becomes_text(tmp_path: Path, text: bytes) -> None:
    (line,) = written(tmp_path / "refused", refusal(1, text))
    assert line["event"] == text.decode(errors="replace")


def test_the_name_of_a_file_need_not_be_unicode(tmp_path: Path) -> None:
    (line,) = written(tmp_path / "refused", Refusal(Record(b"{}", "\udcff:1"), "no"))
    assert line["at"] == "\udcff:1"


def test_the_same_refusal_is_not_written_again_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "refused"
    assert len(written(path, refusal(1), refusal(2))) == 2
    assert len(written(path, refusal(2, reason="another reason"), refusal(3))) == 3
    assert len(written(path, refusal(3, b'{"type": "other"}'))) == 4


def test_half_a_line_of_a_crash_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "refused"
    written(path, refusal(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    assert len(written(path, refusal(2))) == 2


def test_two_imports_do_not_share_a_file(tmp_path: Path) -> None:
    first, second = RefusedFile(tmp_path / "refused"), RefusedFile(tmp_path / "refused")
    first.open()
    with pytest.raises(ValueError, match="name another --refused"):
        second.open()
    first.close()
    second.open()
    second.close()


def test_a_folder_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        RefusedFile(tmp_path / "nowhere" / "refused")
