"""Log lines as JSON or as text: an event, and its fields.

Any module logs with the standard library, `log.info("keys were read again", extra={"keys": 3})`;
what `extra` holds become the fields. The two formatters are as short as a subclass of a library's
would be: field names, times in UTC, one event per line, and text that is not Unicode are our own.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import orjson

Style = Literal["json", "text"]

_ORDINARY = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}
"""What every record has, and uvicorn's second copy of its messages."""


def configure(style: Style = "json", *, level: str = "info", stream: TextIO | None = None) -> None:
    """Write all logs of the process to stderr, those of uvicorn and other libraries too."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONLines() if style == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.asgi"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # It writes raw paths, and those name users; the service has access lines of its own.
    logging.getLogger("uvicorn.access").disabled = True


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return what was given as `extra`; names with an underscore are of other libraries."""
    given = vars(record).items()
    return {name: value for name, value in given if name not in _ORDINARY and name[0] != "_"}


class JSONLines(logging.Formatter):
    """One JSON object per line: time, level, event, logger, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
            **fields_of(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _json(line)


class TextLines(logging.Formatter):
    """`12:00:01 INFO request status=200`, and tracebacks below."""

    def format(self, record: logging.LogRecord) -> str:
        words = [f"{_time(record):%H:%M:%S}", record.levelname, record.getMessage()]
        words += [f"{name}={_word(value)}" for name, value in fields_of(record).items()]
        text = " ".join(words).replace("\n", "\\n")  # one line is one event
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _word(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else repr(text)


def _json(line: dict[str, Any]) -> str:
    try:
        return orjson.dumps(line, default=str).decode()
    except TypeError:  # text that is not Unicode, or a number that is too large
        plain = {name: ascii(value) for name, value in line.items()}
        return orjson.dumps(plain).decode()
