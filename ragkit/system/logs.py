"""Log lines on standard error: JSON, one object each, or plain words where a person reads them.

Set up by programs, never on import. Texts of documents, questions and answers are nobody's to log
but the audit's, by setting.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

_QUIET: Final = ("httpx", "httpx2", "httpcore", "aiohttp", "openai", "uvicorn", "psycopg", "torch")


class JsonLines(logging.Formatter):
    """Write a record as one JSON object; its `fields` are added as they are."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainLines(logging.Formatter):
    """Write a record for a person: the time of day, the message, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        fields = {k: v for k, v in getattr(record, "fields", {}).items() if v is not None}
        text = " ".join(
            (record.getMessage(), *(f"{name}={value}" for name, value in fields.items()))
        )
        line = f"{when} {record.levelname.lower():7} {text}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure() -> None:
    """Have this process log to standard error, plainly where that is a terminal."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines() if sys.stderr.isatty() else JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
